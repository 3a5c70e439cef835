"""The command line: list, run, studio, check, bench, reproduce. Exit 0: it ran; 2: bad input, in one line; 1: it failed."""

import contextlib
import gc
import json
import os
import sys
import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from manikin import __version__
from manikin.errors import InputError, ManikinError

app = typer.Typer(
    name="manikin", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
    help="Give a character a job; get the motion, physically true, ready for Blender.",
    epilog="First steps: [bold]manikin list[/bold], then [bold]manikin run lift --out lift.glb --out lift.mp4[/bold].",
)  # fmt: skip


def main() -> None:
    """Entry point: every expected error is one line on stderr."""
    try:
        app(standalone_mode=False)
    except InputError as error:
        _stop(str(error), 2)
    except ManikinError as error:
        _stop(str(error), 1)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except typer.Abort:
        _stop("aborted", 1)
    except Exception as error:
        # wrong options come as click's usage errors, whichever click typer brings
        if type(error).__module__.startswith(("click", "typer._click")) and hasattr(error, "format_message"):
            # no command at all: the help has been printed, and there is nothing to add
            if not error.format_message():
                sys.exit(2)
            _stop(f"{error.format_message()} (see --help)", 2)
        raise


def _stop(message: str, code: int) -> NoReturn:
    print(f"manikin: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"manikin {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


@app.command("list")
def list_scenes(as_json: Annotated[bool, typer.Option("--json", help="As a JSON array.")] = False) -> None:
    """List the scenes that ship with Manikin."""
    scenes = []
    # plain TOML: the checked schema would load numpy
    folder = resources.files("manikin.scenes") / "files"
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            raw = tomllib.loads(file.read_text(encoding="utf-8"))
            scenes.append({k: raw.get(k, "") for k in ("name", "title", "group", "document", "description")})
    if as_json:
        print(json.dumps(scenes))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("scene", "what happens", "after", box=None, padding=(0, 2, 0, 0))
    for s in scenes:
        table.add_row(f"[bold]{s['name']}[/bold]", s["description"], s["document"])
    Console().print(table)


SceneArg = Annotated[
    str, typer.Argument(help="A shipped scene (see `manikin list`) or a path to a TOML file.", show_default=False)
]
SetOpt = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change any key of the scene: --set props.box.mass=15 (repeatable)."),
]
OutOpt = Annotated[
    list[Path] | None,
    typer.Option(
        "--out", "-o", metavar="FILE",
        help="What to save, by extension: .npz recording, .glb, .mp4, .png contact sheet, .csv frames, .json report.",
    ),
]  # fmt: skip

ClipFpsOpt = Annotated[
    float | None, typer.Option("--clip-fps", help="Frames per second of the motion file, where it is silent (AMC) or wrong.")
]
SkeletonOpt = Annotated[
    str | None, typer.Option(metavar="FILE.asf", help="Skeleton of an .amc; default the one .asf beside it.")
]


@app.command()
def run(
    scene: SceneArg,
    change: SetOpt = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many simulated seconds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all that is random.")] = None,
    clip: Annotated[
        str | None, typer.Option(help="Motion for the posture: a shipped clip, or a .npz, .bvh or .amc file (.gz too).")
    ] = None,
    clip_fps: ClipFpsOpt = None,
    skeleton: SkeletonOpt = None,
    out: OutOpt = None,
    as_json: Annotated[bool, typer.Option("--json", help="Last line on stdout: the report as one JSON object.")] = False,
) -> None:
    """Run a scene and save what comes of it."""
    from manikin.export.save import PICTURES, check_output, save

    outputs = list(out or [])
    for path in outputs:
        check_output(path)
    if any(p.suffix.lower() in PICTURES for p in outputs):
        from manikin.export.render import check_drawing

        check_drawing()
    from manikin.scenes.scene import load_scene, parse_change

    changes = dict(parse_change(c) for c in change or [])
    changes |= {k: v for k, v in _short(seconds, seed, clip, clip_fps, skeleton).items() if v is not None}
    checked = load_scene(scene, changes)
    if clip is not None:
        _warn_of_clip(clip, clip_fps, skeleton)
    from manikin.api import Failed
    from manikin.api import run as perform

    # the libraries stay: no need for the collector to look at them again and again
    gc.freeze()
    failure = ""
    with _bar(f"simulating {checked.name}") as progress:
        try:
            take = perform(checked, progress=progress)
        except Failed as failed:
            failure, take = str(failed), failed.take
    for path in outputs:
        with _bar(f"writing {path.name}") as progress:
            save(take, path, progress)
    _tell(take.report, outputs)
    if as_json:
        from manikin.export.report import clean

        print(json.dumps(clean(take.report)))
    if failure:
        _stop(failure, 1)


def _short(
    seconds: float | None, seed: int | None, clip: str | None, clip_fps: float | None, skeleton: str | None
) -> dict[str, Any]:  # fmt: skip
    """Options that are short for keys of the scene."""
    return {
        "seconds": seconds,
        "seed": seed,
        "character.clip": clip,
        "character.clip_fps": clip_fps,
        "character.skeleton": skeleton,
    }


def _warn_of_clip(clip: str, fps: float | None, skeleton: str | None) -> None:
    """Say what looks wrong with a motion file before its motion is used."""
    from manikin.clips.source import KINDS, read_motion, suspicions
    from manikin.clips.text import kind_of

    path = Path(clip)
    if kind_of(path) in KINDS:
        for doubt in suspicions(read_motion(path, fps, None if skeleton is None else Path(skeleton)), path.name):
            print(f"manikin: {path.name}: {doubt}", file=sys.stderr)


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Any]:
    """A progress bar on stderr, when a person is watching."""
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _tell(report: dict[str, Any], outputs: list[Path]) -> None:
    verdict = "ok" if report["ok"] else f"NOT DONE: {report['reason']}"
    print(f"{report['scene']}: {verdict}")
    for key, value in report.items():
        if key not in ("scene", "ok", "reason"):
            print(f"  {key:<18} {value}")
    for path in outputs:
        print(f"  wrote {path}")


@app.command()
def studio(
    scene: Annotated[
        str | None, typer.Argument(help="A shipped scene or a path to a TOML file (default: the gallery).", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 for any that is free.")] = 8765,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; other than 127.0.0.1 needs --token.")] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(help="A secret of your own in place of a random one.")] = None,
    takes: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where takes are kept.")] = None,
) -> None:
    """Open a page where you grab the character. Ctrl-C ends it and keeps the takes."""
    # one thread for each step: set before numpy is loaded
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from manikin.studio.entry import studio as perform

    gc.freeze()

    def say(line: str) -> None:
        # whoever reads through a pipe waits for the address
        print(line, flush=True)

    perform(scene, port=port, host=host, token=token, browser=not no_browser, takes=takes, say=say)


@app.command()
def check(
    file: Annotated[
        Path,
        typer.Argument(help="A scene (.toml), a recording (.npz, which is replayed), a clip or motion (.npz, .bvh, .amc)."),
    ],
    clip_fps: ClipFpsOpt = None,
    skeleton: SkeletonOpt = None,
    as_json: Annotated[bool, typer.Option("--json", help="Last line on stdout: the findings as one JSON object.")] = False,
) -> None:
    """Check a scene, a recording or a clip. A recording is replayed in plain MuJoCo, a motion file tried on the human."""
    from manikin.checks import check_file

    with _bar(f"checking {file.name}") as progress:
        findings = check_file(file, clip_fps, skeleton, progress)
    for key, value in findings.items():
        for line in value or ["nothing"] if isinstance(value, list) else [value]:
            print(f"{key:<18} {line}")
    if as_json:
        print(json.dumps(findings))
    if not findings["ok"]:
        _stop(f"{file}: {findings['reason']}", 1)


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(help="Which benchmark (default: all).")] = None,
    long: Annotated[bool, typer.Option("--long", help="Campaigns too: minutes to hours.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Last line on stdout: one flat JSON object.")] = False,
) -> None:
    """Measure speed as ratios of one run."""
    # one thread: set before numpy is loaded
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from manikin.bench import run_bench

    gc.freeze()
    with _bar("measuring") as progress:
        figures = run_bench(name, progress, long)
    for key, value in figures.items():
        print(f"{key:<44} {value}")
    if as_json:
        print(json.dumps(figures))


@app.command()
def reproduce(
    document: Annotated[str, typer.Argument(help="Which document, such as abe2006.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Keep claims.json, claims.md and a take of each scene there."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer masses, balls and tosses: about two minutes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Last line on stdout: all claims as one JSON array.")] = False,
) -> None:
    """Repeat a document's experiments and say which of its statements hold."""
    # one thread: set before numpy is loaded
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from manikin.papers.reproduce import WORDS, number
    from manikin.papers.reproduce import reproduce as perform

    gc.freeze()
    with _bar(f"reproducing {document}") as progress:
        outcome = perform(document, out, quick, progress)
    rows = outcome.rows
    for row in rows:
        print(f"{row['id']:<24} {WORDS[row['holds']]:<14} {number(row):<24} {row['claim']}")
    counts = [sum(r["holds"] is kind for r in rows) for kind in (True, False, None)]
    print(f"{counts[0]} hold, {counts[1]} do not, {counts[2]} were not measured")
    for path in outcome.files:
        print(f"  wrote {path}")
    if outcome.interrupted:
        print("manikin: interrupted; what was finished is kept", file=sys.stderr)
    if as_json:
        print(json.dumps(rows))
    if outcome.broken:
        _stop(f"{len(outcome.broken)} of {len(rows)} claims: a run broke: {outcome.broken[0]}", 1)

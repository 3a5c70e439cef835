"""The command line: list, run, studio, check, bench, reproduce.

Exit 0: it ran; 2: bad input, in one line; 1: it failed; 130: interrupted before there was anything to keep.
"""

import contextlib
import errno
import gc
import io
import json
import os
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from manikin import __version__
from manikin.errors import InputError, ManikinError, OutputError
from manikin.interrupts import INTERRUPTED, Loading, is_interrupt
from manikin.papers import DOCUMENTS

if TYPE_CHECKING:
    from manikin.export.save import Take

# the help prints a type for each option: switches have none
FLAG = " "

app = typer.Typer(
    name="manikin", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
    help="Tell a character what to do, and get motion that obeys physics, ready for Blender.",
    epilog="First steps: [bold]manikin list[/bold], then [bold]manikin run lift --out lift.glb --out lift.mp4[/bold], or "
    "[bold]manikin studio lift[/bold] to grab the character with the mouse.",
)  # fmt: skip


def main() -> None:
    """Entry point: every expected error is one line on stderr."""
    _prepare()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        _stop(str(error), 2)
    except ManikinError as error:
        _stop(str(error), 1)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except typer.Abort:
        _stop("aborted", 1)
    except OSError as error:
        _stop_without_stdout(error)
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        if is_interrupt(error):
            _stop("interrupted", INTERRUPTED)
        # wrong options are reported as click's usage errors, whichever click typer brings
        if type(error).__module__.startswith(("click", "typer._click")) and hasattr(error, "format_message"):
            # no command at all: the help has been printed, and there is nothing to add
            if not error.format_message():
                sys.exit(2)
            _stop(f"{error.format_message()} (see --help)", 2)
        raise
    if code == INTERRUPTED:
        # typer turns Ctrl-C into an exit code
        _stop("interrupted", INTERRUPTED)


def _prepare() -> None:
    """Streams that never fail on a character they cannot show, and one thread per numerical library."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # our matrices are small: more threads only wait for each other. Read when numpy is loaded, which is later
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def _stop(message: str, code: int) -> NoReturn:
    _complain(message)
    sys.exit(code)


def _complain(message: str) -> None:
    print(f"manikin: {' '.join(message.split())}", file=sys.stderr)


def _stop_without_stdout(error: OSError) -> NoReturn:
    """Standard output is closed or full: files name themselves in their own errors."""
    if error.errno not in (errno.EPIPE, errno.ENOSPC) or error.filename is not None:
        raise error
    # what it still holds goes nowhere, or Python would report it once more at exit
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        # a reader such as `head` has seen enough
        sys.exit(1)
    _stop(f"standard output: {error.strerror}", 1)


@contextlib.contextmanager
def _interruptible(doing: str, kept: str) -> Iterator[Loading]:
    """Ctrl-C ends the command here, with one line: what was being done, and what is left of it. Gives a context for imports."""
    line = f"interrupted while {doing}; {kept}"
    try:
        yield Loading(line)
    except BaseException as error:
        if not is_interrupt(error):
            raise
        _stop(line, INTERRUPTED)


def _load_engine() -> None:
    """Import what every simulation needs."""
    from manikin.compiled import load_compiler

    load_compiler()
    import_module("manikin.api")
    if sys.stderr.isatty():
        import_module("rich.progress")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"manikin {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", metavar=FLAG, callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command("list")
def list_scenes(as_json: Annotated[bool, typer.Option("--json", metavar=FLAG, help="As a JSON array.")] = False) -> None:
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
    typer.Option("--set", metavar="PATH=VALUE", help="Change any key of the scene (repeatable): --set props.box.mass=15."),
]
OutOpt = Annotated[
    list[Path] | None,
    typer.Option(
        "--out", "-o", metavar="FILE",
        help="What to save, by extension (repeatable). Animation: .glb, .usdc (or .usda text), .bvh. Pictures: .mp4 film, "
        ".png contact sheet. Data: .npz recording, .csv table of frames, .json report.",
    ),
]  # fmt: skip

ClipFpsOpt = Annotated[
    float | None,
    typer.Option("--clip-fps", help="Frame rate of the motion file [Hz], if the file states none (AMC) or a wrong one."),
]
SkeletonOpt = Annotated[
    str | None, typer.Option(metavar="FILE.asf", help="Skeleton of an .amc file (default: the only .asf in its folder).")
]


@app.command()
def run(
    scene: SceneArg,
    change: SetOpt = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after this many simulated seconds.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed, for scenes with a \\[random] table; refused for others.")
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option(help="Motion that the posture follows: a shipped clip, or a .npz, .bvh or .amc file (also .gz)."),
    ] = None,
    clip_fps: ClipFpsOpt = None,
    skeleton: SkeletonOpt = None,
    out: OutOpt = None,
    as_json: Annotated[
        bool, typer.Option("--json", metavar=FLAG, help="Last line on stdout: the report as one JSON object.")
    ] = False,
) -> None:
    """Run a scene and save the result.

    Ctrl-C ends the simulation and saves what was recorded.
    """
    outputs = list(out or [])
    with _interruptible("preparing", "nothing was written") as loading:
        with loading:
            from manikin.export.save import PICTURES, WRITERS, check_output

            for path in outputs:
                check_output(path)
            if any(p.suffix.lower() in PICTURES for p in outputs):
                from manikin.export.render import check_drawing

                check_drawing()
            from manikin.scenes.scene import load_scene, parse_change

        changes = dict(parse_change(c) for c in change or [])
        changes |= {k: v for k, v in _short(seconds, seed, clip, clip_fps, skeleton).items() if v is not None}
        checked = load_scene(scene, changes)
        with loading:
            for path in outputs:
                import_module(WRITERS.get(path.suffix.lower(), "manikin.export.save"))
            _load_engine()
        if clip is not None:
            _warn_of_clip(clip, clip_fps, skeleton)
        from manikin.api import Failed
        from manikin.api import run as perform

        # the libraries stay loaded: the garbage collector need not scan them again and again
        gc.freeze()
        failure = ""
        with _bar(f"simulating {checked.name}") as progress:
            try:
                take = perform(checked, progress=progress)
            except Failed as failed:
                failure, take = str(failed), failed.take
    written, code = _save_all(take, outputs)
    _print_report(take.report, written)
    if as_json:
        from manikin.export.report import clean

        print(json.dumps(clean(take.report)))
    if failure:
        _stop(failure, 1)
    if code:
        sys.exit(code)


def _save_all(take: "Take", outputs: list[Path]) -> tuple[list[tuple[Path, str]], int]:
    """Write every output. One that fails is named on stderr and the others are still written; Ctrl-C ends the writing.

    Returns what was written, each with a remark, and the exit code: 0, 1 after a failure, 130 after Ctrl-C.
    """
    from manikin.export.save import remark, save

    written: list[tuple[Path, str]] = []
    code = 0
    for k, path in enumerate(outputs):
        try:
            with _bar(f"writing {path.name}") as progress:
                save(take, path, progress)
            written.append((path, remark(take.recording, path)))
        except OutputError as error:
            _complain(str(error))
            code = 1
        except BaseException as error:
            if not is_interrupt(error):
                raise
            missing = ", ".join(str(p) for p in outputs[k:])
            _complain(f"interrupted while writing {path}; not written: {missing}")
            return written, INTERRUPTED
    return written, code


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
    """Say what looks wrong with a motion or clip file before its motion is used."""
    from manikin.checks import clip_doubts
    from manikin.clips.source import KINDS, read_motion, suspicions
    from manikin.clips.text import kind_of

    path = Path(clip)
    doubts = []
    if kind_of(path) in KINDS:
        with contextlib.suppress(InputError):
            # what cannot be read is reported by the run, with the key
            doubts = suspicions(read_motion(path, fps, None if skeleton is None else Path(skeleton)), path.name)
    elif path.suffix == ".npz":
        from manikin.characters.human import human
        from manikin.clips.clip import load_clip

        with contextlib.suppress(InputError):
            loaded = load_clip(clip)
            doubts = clip_doubts(loaded, human(loaded.height, skin=False))
    for doubt in doubts:
        print(f"manikin: {path.name}: {doubt}", file=sys.stderr)


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Any]:
    """A progress bar on stderr, when a person is watching."""
    if not sys.stderr.isatty():
        yield lambda done: None
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
        yield lambda done: bar.update(task, completed=done)


def _print_report(report: dict[str, Any], written: list[tuple[Path, str]]) -> None:
    verdict = "ok" if report["ok"] else f"NOT DONE: {report['reason']}"
    print(f"{report['scene']}: {verdict}")
    for key, value in report.items():
        if key not in ("scene", "ok", "reason"):
            print(f"  {key:<18} {value}")
    for path, remark in written:
        print(f"  wrote {path}{f' ({remark})' if remark else ''}")


@app.command()
def studio(
    scene: Annotated[
        str | None, typer.Argument(help="A shipped scene or a path to a TOML file (default: the gallery).", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 chooses a free one.")] = 8765,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", metavar=FLAG, help="Print the address without opening a browser.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; any but this machine's own needs --token.")] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(help="Your own secret for the page's address (default: a random one).")] = None,
    takes: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where takes are kept (default: your data folder).")
    ] = None,
    space: Annotated[
        float, typer.Option(metavar="GB", min=0.1, help="What takes may fill; then nothing more is recorded.")
    ] = 4.0,
) -> None:
    """Open a page in the browser where you grab the character.

    Ctrl-C ends it and keeps the takes.
    """
    with Loading():
        _load_engine()
        from manikin.studio.entry import studio as perform

    gc.freeze()

    def say(line: str) -> None:
        # a reader at the other end of a pipe waits for the address
        print(line, flush=True)

    perform(scene, port=port, host=host, token=token, browser=not no_browser, takes=takes, space=space, say=say)


@app.command()
def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="A scene (shipped or .toml), a recording (.npz), a clip (.npz), or motion capture (.bvh, .amc, .asf).",
            show_default=False,
        ),
    ],
    clip_fps: ClipFpsOpt = None,
    skeleton: SkeletonOpt = None,
    as_json: Annotated[
        bool, typer.Option("--json", metavar=FLAG, help="Last line on stdout: the findings as one JSON object.")
    ] = False,
) -> None:
    """Check a scene, a recording, a clip or a motion capture file.

    A recording is replayed in plain MuJoCo; a motion is transferred to the human.
    """
    with _interruptible(f"checking {file}", "there are no findings") as loading:
        with loading:
            _load_engine()
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
    name: Annotated[
        str | None, typer.Argument(help="abe2006, nearest, studio or kim2011 (default: all).", show_default=False)
    ] = None,
    long: Annotated[bool, typer.Option("--long", metavar=FLAG, help="Long campaigns as well: minutes to hours.")] = False,
    as_json: Annotated[bool, typer.Option("--json", metavar=FLAG, help="Last line on stdout: one flat JSON object.")] = False,
) -> None:
    """Measure speed, as ratios within one run."""
    with _interruptible("measuring", "there are no figures") as loading:
        with loading:
            _load_engine()
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
    document: Annotated[str, typer.Argument(help=f"Which document: {' or '.join(DOCUMENTS)}.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Save claims.json, claims.md and a take of each scene there."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", metavar=FLAG, help="Smaller series of experiments: a few minutes.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", metavar=FLAG, help="Last line on stdout: all claims as one JSON array.")
    ] = False,
) -> None:
    """Repeat a document's experiments and report which of its statements hold."""
    with _interruptible("preparing", "nothing was measured") as loading:
        with loading:
            _load_engine()
            from manikin.papers.reproduce import WORDS, number
            from manikin.papers.reproduce import reproduce as perform

            if document in DOCUMENTS:
                import_module(DOCUMENTS[document])

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
    if as_json:
        print(json.dumps(rows))
    if outcome.interrupted:
        _stop("interrupted; what was finished is kept", INTERRUPTED)
    if outcome.broken:
        _stop(f"{len(outcome.broken)} of {len(rows)} claims: a run failed: {outcome.broken[0]}", 1)

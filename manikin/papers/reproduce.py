"""Repeat the experiments of a document: measure its claims one by one and keep what is finished."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from manikin import __version__
from manikin.compiled import is_interrupt
from manikin.errors import InputError, OutputError, RunError, did_you_mean
from manikin.export.save import save
from manikin.files import check_writable, whole_file
from manikin.papers import DOCUMENTS
from manikin.papers.claims import Claim, Finding, Lab, plain, unmeasured

Progress = Callable[[float], None]
Row = dict[str, Any]
WORDS = {True: "holds", False: "does not hold", None: "not measured"}
# of a hash of all sources
HASH_DIGITS = 12


@dataclass(frozen=True)
class Outcome:
    """rows: every claim as in claims.json; broken: the runs that failed, by claim or scene; files: what was written."""

    rows: list[Row]
    broken: list[str]
    interrupted: bool
    files: list[Path]


@cache
def sources_hash() -> str:
    """A short hash of the package's sources, Python and scene files: equal for equal sources, with or without git."""
    root, found = Path(__file__).parents[1], hashlib.sha256()
    files = {file.relative_to(root).as_posix(): file for file in [*root.rglob("*.py"), *root.glob("scenes/files/*.toml")]}
    for name in sorted(files):
        # packages of the page's tools bring Python of their own
        if "node_modules" not in name:
            text = files[name].read_bytes().replace(b"\r\n", b"\n")
            found.update(f"{name} {len(text)}\n".encode() + text)
    return found.hexdigest()[:HASH_DIGITS]


def find_document(name: str) -> Any:
    """The module of a document."""
    if name not in DOCUMENTS:
        raise InputError(f"no document is called '{name}'{did_you_mean(name, DOCUMENTS)}")
    return import_module(DOCUMENTS[name])


def reproduce(name: str, out: Path | None = None, quick: bool = False, progress: Progress | None = None) -> Outcome:
    """Measure every claim of a document; with `out`, write claims.json, claims.md and one take of each scene there."""
    document = find_document(name)
    if out is not None:
        open_folder(out)
    command = " ".join(["manikin reproduce", name, *(["--quick"] if quick else []), *(["--out"] if out else [])])
    return measure_all(document.CLAIMS, Lab(quick, document.SEED), command, document.SCENES, out, progress)


def measure_all(
    claims: Sequence[Claim], lab: Lab, command: str, scenes: Sequence[str] = (), out: Path | None = None,
    progress: Progress | None = None,
) -> Outcome:  # fmt: skip
    """Measure claims one by one. An interrupt leaves the rest unmeasured; a run that fails costs only its own claim."""
    report = progress or (lambda fraction: None)
    rows = [as_row(c, unmeasured("not reached"), 0.0, lab, command) for c in claims]
    broken: list[str] = []
    files: list[Path] = []
    interrupted = False
    part = 0.8 if scenes and out is not None else 1.0
    try:
        for k, claim in enumerate(claims):

            def within(fraction: float, done: int = k) -> None:
                report(part * (done + fraction) / len(claims))

            lab.progress = within
            begin = time.perf_counter()
            try:
                finding = claim.measure(lab)
            except RunError as error:
                broken.append(f"{claim.id}: {error}")
                finding = unmeasured(f"a run failed: {error}")
            except (LookupError, ValueError) as error:
                # the run never reached what is measured, such as a step of its script
                broken.append(f"{claim.id}: {type(error).__name__} {error}")
                finding = unmeasured(f"a run did not reach what is measured: {type(error).__name__} {error}")
            rows[k] = as_row(claim, finding, time.perf_counter() - begin, lab, command)
            within(1.0)
            _write(rows, out)
        for k, scene in enumerate(scenes if out is not None else ()):
            assert out is not None
            try:
                files += _keep_take(lab, scene, out)
            except RunError as error:
                broken.append(f"{scene}: {error}")
            report(part + (1 - part) * (k + 1) / len(scenes))
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        interrupted = True
        for row in rows:
            if row["reason"] == "not reached":
                row["reason"] = "interrupted before it was measured"
    files += _write(rows, out)
    return Outcome(rows, broken, interrupted, files)


def open_folder(out: Path) -> None:
    """Make the folder, or say why it cannot be written to."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: is not a folder")
    if not out.exists():
        check_writable(out)
        out.mkdir()
    check_writable(out / "claims.json")


def as_row(claim: Claim, finding: Finding, seconds: float, lab: Lab, command: str) -> Row:
    """A claim and what was found, as an entry of claims.json."""
    return {
        "id": claim.id,
        "claim": claim.claim,
        "source": claim.source,
        "document": claim.document,
        "ours": plain(finding.ours),
        "unit": claim.unit,
        "holds": None if finding.holds is None else bool(finding.holds),
        "reason": finding.reason,
        "how": claim.how,
        "bound": claim.bound,
        "changed": [{"from": c.before, "to": c.after, "why": c.why} for c in claim.changed],
        "numbers": plain(finding.numbers),
        "seconds": round(seconds, 1),
        "version": __version__,
        "sources": sources_hash(),
        "seed": lab.seed,
        "quick": lab.quick,
        "command": command,
    }


def _keep_take(lab: Lab, scene: str, out: Path) -> list[Path]:
    """A take of a scene as recording and animation, and as contact sheet where pictures can be drawn."""
    from manikin.export.render import check_drawing

    take = lab.take(scene)
    files = [out / f"{scene}.npz", out / f"{scene}.glb"]
    try:
        check_drawing()
        files.append(out / f"{scene}.png")
    except OutputError:
        # a machine without OpenGL still measures
        pass
    for path in files:
        save(take, path)
    return files


def _write(rows: list[Row], out: Path | None) -> list[Path]:
    if out is None:
        return []
    texts = {"claims.json": json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "claims.md": as_table(rows)}
    for name, text in texts.items():
        with whole_file(out / name) as stream:
            stream.write(text.encode())
    return [out / name for name in texts]


def number(row: Row) -> str:
    """The deciding number with its unit."""
    return "-" if row["ours"] is None else f"{row['ours']:.4g} {row['unit']}".strip()


def counts(rows: Sequence[Row]) -> str:
    """How many claims hold, do not hold and were not measured, as one phrase."""
    held = [row["holds"] for row in rows]
    return f"{held.count(True)} hold, {held.count(False)} do not, {held.count(None)} were not measured"


def as_table(rows: Sequence[Row]) -> str:
    """All claims as a Markdown table, followed by the criteria that were replaced after a measurement."""
    lines = ["| id | claim | source | document | ours | bound | holds |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        holds = {True: "yes", False: "**no**", None: f"not measured: {row['reason']}"}[row["holds"]]
        bound = ("-" if row["holds"] is None else row["bound"]) + (", changed" if row["changed"] else "")
        lines.append(_line(f"`{row['id']}`", row["claim"], row["source"], row["document"], number(row), bound, holds))
    changes = [(row["id"], change) for row in rows for change in row["changed"]]
    if changes:
        lines += ["", "Criteria that were replaced after a measurement:", "", "| id | from | to | why |", "|---|---|---|---|"]
        lines += [_line(f"`{name}`", change["from"], change["to"], change["why"]) for name, change in changes]
    return "\n".join(lines) + "\n"


def _line(*cells: str) -> str:
    return "| " + " | ".join(str(c).replace("|", "/") for c in cells) + " |"

"""Repeat the experiments of a document: claims measured one after the other, kept as they come."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Outcome:
    """rows: every claim as in claims.json; broken: runs that broke, by claim or scene; files: what was written."""

    rows: list[Row]
    broken: list[str]
    interrupted: bool
    files: list[Path]


def find_document(name: str) -> Any:
    """The module of a document."""
    if name not in DOCUMENTS:
        raise InputError(f"no document is called '{name}'{did_you_mean(name, DOCUMENTS)}")
    return import_module(DOCUMENTS[name])


def reproduce(name: str, out: Path | None = None, quick: bool = False, progress: Progress | None = None) -> Outcome:
    """Measure every claim of a document; with `out`, keep claims.json, claims.md and one take of each scene there."""
    document = find_document(name)
    if out is not None:
        open_folder(out)
    command = " ".join(["manikin reproduce", name, *(["--quick"] if quick else []), *(["--out"] if out else [])])
    return measure_all(document.CLAIMS, Lab(quick, document.SEED), command, document.SCENES, out, progress)


def measure_all(
    claims: Sequence[Claim], lab: Lab, command: str, scenes: Sequence[str] = (), out: Path | None = None,
    progress: Progress | None = None,
) -> Outcome:  # fmt: skip
    """One claim after the other; an interrupt leaves the rest unmeasured, a run that breaks only its own claim."""
    tell = progress or (lambda share: None)
    rows = [_row(c, unmeasured("not reached"), 0.0, lab, command) for c in claims]
    broken: list[str] = []
    files: list[Path] = []
    interrupted = False
    part = 0.8 if scenes and out is not None else 1.0
    try:
        for k, claim in enumerate(claims):

            def within(share: float, done: int = k) -> None:
                tell(part * (done + share) / len(claims))

            lab.progress = within
            begin = time.perf_counter()
            try:
                finding = claim.measure(lab)
            except RunError as error:
                broken.append(f"{claim.id}: {error}")
                finding = unmeasured(f"a run broke: {error}")
            except (LookupError, ValueError) as error:
                # a run that never came to what is looked for, such as a step of its script
                broken.append(f"{claim.id}: {type(error).__name__} {error}")
                finding = unmeasured(f"a run did not come to what is measured: {type(error).__name__} {error}")
            rows[k] = _row(claim, finding, time.perf_counter() - begin, lab, command)
            within(1.0)
            _write(rows, out)
        for k, scene in enumerate(scenes if out is not None else ()):
            assert out is not None
            try:
                files += _keep_take(lab, scene, out)
            except RunError as error:
                broken.append(f"{scene}: {error}")
            tell(part + (1 - part) * (k + 1) / len(scenes))
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
    """Make the folder, or say why nothing can be written there."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: is not a folder")
    if not out.exists():
        check_writable(out)
        out.mkdir()
    check_writable(out / "claims.json")


def _row(claim: Claim, finding: Finding, seconds: float, lab: Lab, command: str) -> Row:
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


def as_table(rows: list[Row]) -> str:
    """All claims as a Markdown table."""
    lines = ["| id | claim | source | document | ours | holds |", "|---|---|---|---|---|---|"]
    for row in rows:
        holds = {True: "yes", False: "**no**", None: f"not measured: {row['reason']}"}[row["holds"]]
        cells = (row["id"], row["claim"], row["source"], row["document"], number(row), holds)
        lines.append("| " + " | ".join(str(c).replace("|", "/") for c in cells) + " |")
    return "\n".join(lines) + "\n"

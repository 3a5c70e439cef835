"""save(take, path): the kind of file follows from its extension."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from manikin.errors import OutputError, did_you_mean_kind
from manikin.export.report import Report, make_report, save_csv, save_json
from manikin.files import check_writable
from manikin.recording import Recording

USD = (".usda", ".usdc", ".usd")
EXTENSIONS = (".npz", ".glb", ".bvh", *USD, ".mp4", ".png", ".csv", ".json")
PICTURES = (".mp4", ".png")
# the modules that write them, where that is not this one; they are loaded when needed
WRITERS = {
    ".glb": "manikin.export.gltf",
    ".bvh": "manikin.export.bvh",
    **dict.fromkeys(USD, "manikin.export.usd"),
    **dict.fromkeys(PICTURES, "manikin.export.video"),
}


class Take(NamedTuple):
    """One run: its recording and its report."""

    recording: Recording
    report: Report


def check_output(path: Path) -> None:
    """Refuse early what could not be saved later."""
    if path.suffix.lower() not in EXTENSIONS:
        raise OutputError(f"{path}: unknown kind of file '{path.suffix}'{did_you_mean_kind(path.suffix, EXTENSIONS)}")
    check_writable(path)
    if path.suffix.lower() in USD:
        try:
            from pxr import Usd  # noqa: F401
        except ImportError as error:
            raise OutputError(f"{path}: USD files need one more package: pip install manikin[usd]") from error


def save(take: Take | Recording, path: str | Path, progress: Callable[[float], None] | None = None) -> None:
    """Write a take by extension: recording (.npz), animation (.glb, .usda, .usdc, .usd, .bvh), film (.mp4), contact sheet
    (.png), frames (.csv), report (.json)."""
    path = Path(path)
    check_output(path)
    recording = take.recording if isinstance(take, Take) else take
    _check_text(recording, path)
    kind = path.suffix.lower()
    if kind == ".npz":
        recording.save(path)
    elif kind == ".glb":
        from manikin.export.gltf import save_glb

        save_glb(recording, path)
    elif kind in USD:
        from manikin.export.usd import save_usd

        save_usd(recording, path)
    elif kind == ".bvh":
        from manikin.export.bvh import save_bvh

        save_bvh(recording, path)
    elif kind == ".csv":
        save_csv(recording, path)
    elif kind == ".json":
        save_json(take.report if isinstance(take, Take) else make_report(take), path)
    else:
        from manikin.export.video import save_mp4, save_png

        if kind == ".png":
            save_png(recording, path)
        else:
            save_mp4(recording, path, progress)


def _check_text(recording: Recording, path: Path) -> None:
    """Refuse text that cannot be encoded: lone surrogates, which JSON lets through."""
    for text in (recording.mjcf, json.dumps([recording.meta, *recording.tasks], ensure_ascii=False, default=str)):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            around = ascii(text[max(0, error.start - 20) : error.end + 20])
            raise OutputError(f"{path}: a text in the recording cannot be encoded: {around}") from error


# text of this size [bytes] takes long to read, and its binary form is about a third of it
BIG_TEXT = 20e6


def remark(recording: Recording, path: Path) -> str:
    """What a user should know about a file that was just written; "" for nothing."""
    kind, fps = path.suffix.lower(), float(recording.meta["fps"])
    last = max(1, round(float(recording.time[-1]) * fps))
    if kind == ".glb":
        # glTF keys are in seconds: Blender turns them into frames at the rate of the open scene
        return f"in Blender set {fps:g} fps before importing, then frames 0 to {last}"
    if kind in USD:
        size = path.stat().st_size
        text = (
            f"{size / 1e6:.0f} MB of text, {path.stem}.usdc is a third of it; " if kind == ".usda" and size > BIG_TEXT else ""
        )
        return f"{text}in Blender set {fps:g} fps"
    return ""

"""ASF and AMC in: Acclaim's skeleton (bones with axes) and its motion (degrees of freedom per bone and frame).

A bone becomes a joint at its near end. Its rotation relative to its parent is C M C^-1, C from `axis`, M from the frame.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.clips.skeleton import MOST_JOINTS, SkeletonMotion, about, check_size
from manikin.clips.text import Lines, kind_of, read_lines
from manikin.errors import ClipError, did_you_mean
from manikin.spatial import quat_conjugate, quat_multiply

Array = NDArray[np.float64]

INCH = 0.0254
# AMC files carry no rate. Nearly all of them come from the CMU database; most of it is 120 Hz, some 60.
USUAL_RATE = 120.0
FREEDOMS = ("tx", "ty", "tz", "rx", "ry", "rz", "l")


@dataclass(frozen=True)
class Bone:
    """along: vector to its far end; axis: orientation (4,) of its local frame; freedom: order of its values."""

    name: str
    along: Array
    axis: Array
    freedom: tuple[str, ...]


class Asf(NamedTuple):
    """A skeleton. bones[0] is the root; parents by number; unit: metres per unit of length, None if not in the file."""

    bones: tuple[Bone, ...]
    parents: tuple[int, ...]
    unit: float | None
    degrees: bool


def skeleton_for(motion: Path) -> Path:
    """The only .asf in the folder of an .amc, or the one whose name is the start of its name (02.asf for 02_01.amc)."""
    try:
        found = sorted(f for f in motion.parent.iterdir() if kind_of(f) == ".asf")
    except OSError:
        found = []
    if len(found) > 1:
        stem = motion.name.lower()
        found = [f for f in found if stem.startswith(f.name.lower().split(".")[0])] or found
    if len(found) != 1:
        what = "there is no .asf in its folder" if not found else f"there are {len(found)} .asf files in its folder"
        raise ClipError(f"{motion}: an AMC needs its skeleton, and {what}: give --skeleton FILE.asf")
    return found[0]


# --- skeleton


def read_asf(path: Path) -> Asf:
    """An .asf (or .asf.gz). Errors name the line."""
    lines = Lines(path, read_lines(path), comment="#")
    bones: dict[str, Bone] = {}
    links: dict[str, str] | None = None
    length, degrees = None, True
    while lines:
        words = lines.take("a section")
        section = words[0].lower()
        if section == ":units":
            length, degrees = _units(lines)
        elif section == ":root":
            bones["root"] = _root(lines, degrees)
        elif section == ":bonedata":
            _bones(lines, degrees, bones)
        elif section == ":hierarchy":
            links = _hierarchy(lines, bones)
        elif not section.startswith(":") and lines.at < 3:
            lines.fail(f"an ASF file begins with :version, found '{words[0][:40]}'")
        # :version, :name, :documentation, :skin and whatever else programs add hold nothing needed here
    for name, there in ((":root", "root" in bones), (":bonedata", len(bones) > 1), (":hierarchy", links is not None)):
        if not there:
            raise lines.wrong(f"the file ends without {name}", len(lines.lines))
    return _ordered(lines, bones, links or {}, None if length is None else INCH / length, degrees)


def _inside(lines: Lines) -> bool:
    return bool(lines) and not lines.peek("a section")[0].startswith(":")


def _units(lines: Lines) -> tuple[float | None, bool]:
    length, degrees = None, True
    while _inside(lines):
        words = lines.take("a unit")
        if words[0].lower() == "length" and len(words) == 2:
            length = lines.numbers(words[1:], "length")[0]
            if length <= 0:
                lines.fail(f"length is {words[1]}: it must be above zero")
        elif words[0].lower() == "angle" and len(words) == 2:
            if words[1].lower()[:3] not in ("deg", "rad"):
                lines.fail(f"angle is '{words[1]}'{did_you_mean(words[1], ('deg', 'rad'))}")
            degrees = words[1].lower().startswith("deg")
    return length, degrees


def _root(lines: Lines, degrees: bool) -> Bone:
    order: tuple[str, ...] = ("tx", "ty", "tz", "rx", "ry", "rz")
    axes, orientation = "XYZ", [0.0, 0.0, 0.0]
    while _inside(lines):
        words = lines.take("a line of :root")
        key = words[0].lower()
        if key == "order":
            order = _freedom(lines, words[1:])
        elif key == "axis":
            axes = _axis_order(lines, words[1] if len(words) > 1 else "")
        elif key == "orientation":
            orientation = _three(lines, words[1:4], "orientation")
        elif key != "position":
            lines.fail(
                f"unknown word '{words[0][:40]}' in :root{did_you_mean(key, ('order', 'axis', 'position', 'orientation'))}"
            )
    return Bone("root", np.zeros(3), _axes_turn(orientation, axes, degrees), order)


def _bones(lines: Lines, degrees: bool, bones: dict[str, Bone]) -> None:
    """Add the bones of a :bonedata section."""
    while _inside(lines):
        words = lines.take("begin")
        if words[0].lower() != "begin":
            lines.fail(f"'begin' of a bone is expected, found '{words[0][:40]}'")
        bone = _bone(lines, degrees)
        if bone.name in bones:
            lines.fail(f"a second bone is called '{bone.name[:40]}'")
        if len(bones) >= MOST_JOINTS:
            lines.fail(f"more than {MOST_JOINTS} bones")
        bones[bone.name] = bone


def _bone(lines: Lines, degrees: bool) -> Bone:
    opened = lines.at
    name, direction, length = "", None, None
    axis = np.array([1.0, 0.0, 0.0, 0.0])
    freedom: tuple[str, ...] = ()
    while (words := lines.take("'end' of a bone"))[0].lower() != "end":
        key = words[0].lower()
        if key in ("begin", ":hierarchy"):
            lines.fail(f"'{words[0]}' before the 'end' of the bone that begins in line {opened}")
        if key == "name":
            name = words[1] if len(words) > 1 else ""
        elif key == "direction":
            direction = _three(lines, words[1:4], "direction")
        elif key == "length":
            length = lines.numbers(words[1:2] or ["nothing"], "length")[0]
        elif key == "axis":
            axis = _axes_turn(
                _three(lines, words[1:4], "axis"), _axis_order(lines, words[4] if len(words) > 4 else "XYZ"), degrees
            )
        elif key == "dof":
            freedom = _freedom(lines, words[1:])
    for what, value in (("name", name or None), ("direction", direction), ("length", length)):
        if value is None:
            lines.fail(f"the bone that begins in line {opened} has no {what}")
    return Bone(name, np.array(direction) * float(length or 0.0), axis, freedom)


def _three(lines: Lines, words: list[str], what: str) -> list[float]:
    if len(words) != 3:
        lines.fail(f"{what} needs three numbers, found {len(words)}")
    return lines.numbers(words, what)


def _axis_order(lines: Lines, word: str) -> str:
    if sorted(word.upper()) != ["X", "Y", "Z"]:
        lines.fail(f"'{word[:40]}' is not an order of axes (such as XYZ)")
    return word.upper()


def _freedom(lines: Lines, words: list[str]) -> tuple[str, ...]:
    out = tuple(w.lower() for w in words)
    for word in out:
        if word not in FREEDOMS:
            lines.fail(f"unknown degree of freedom '{word[:40]}'{did_you_mean(word, FREEDOMS)}")
    if len(set(out)) < len(out):
        lines.fail("a degree of freedom occurs twice")
    return out


def _axes_turn(angles: list[float], order: str, degrees: bool) -> Array:
    """The first axis is applied first, all of them about fixed axes: R = Rz Ry Rx for XYZ."""
    rotation = np.array([1.0, 0.0, 0.0, 0.0])
    for angle, letter in zip(angles, order):
        rotation = quat_multiply(about(letter, np.array(np.deg2rad(angle) if degrees else angle)), rotation)
    return rotation


def _hierarchy(lines: Lines, bones: dict[str, Bone]) -> dict[str, str]:
    """child: parent"""
    out: dict[str, str] = {}
    words = lines.take("begin")
    if words[0].lower() != "begin":
        lines.fail(f"'begin' of the hierarchy is expected, found '{words[0][:40]}'")
    while (words := lines.take("'end' of the hierarchy"))[0].lower() != "end":
        for name in words:
            if name not in bones:
                lines.fail(f"no bone is called '{name[:40]}'{did_you_mean(name, bones)}")
        for child in words[1:]:
            if child in out or child == "root":
                lines.fail(f"bone '{child[:40]}' has two parents" if child in out else "the root has a parent")
            out[child] = words[0]
    return out


def _ordered(lines: Lines, bones: dict[str, Bone], links: dict[str, str], unit: float | None, degrees: bool) -> Asf:
    """Bones with parents before children; the root must be an ancestor of every bone."""
    order = ["root"]
    for name in order:
        order.extend(child for child, parent in links.items() if parent == name)
    lost = [name for name in bones if name not in order]
    if lost:
        raise lines.wrong(f"bone '{lost[0][:40]}' is not connected to the root", len(lines.lines))
    parents = tuple(-1 if name == "root" else order.index(links[name]) for name in order)
    return Asf(tuple(bones[n] for n in order), parents, unit, degrees)


# --- motion


def read_amc(path: Path, skeleton: Path | None = None, fps: float | None = None) -> SkeletonMotion:
    """An .amc (or .amc.gz) on its skeleton (default: the .asf in its folder), in its own units and axes.

    fps: not in the file; 120 Hz unless given.
    """
    asf_path = skeleton or skeleton_for(path)
    asf = read_asf(asf_path)
    lines = Lines(path, read_lines(path), comment="#")
    table, columns = _read_values(lines, asf, asf_path)
    notes: tuple[str, ...] = (f"skeleton: {asf_path.name}",)
    if fps is None:
        notes += (f"an AMC file carries no rate: {USUAL_RATE:g} Hz is assumed, as in most of the CMU database; some is 60",)
    return _assemble(asf, table, columns, fps or USUAL_RATE, notes)


def _read_values(lines: Lines, asf: Asf, asf_path: Path) -> tuple[Array, dict[str, int]]:
    """Values (T, all freedoms) in radians and units of length, and the first column of each bone."""
    columns, width = {}, 0
    for bone in asf.bones:
        columns[bone.name] = width
        width += len(bone.freedom)
    by_name = {b.name: b for b in asf.bones}
    degrees = asf.degrees
    # the file cannot hold more frames than lines
    too_large = check_size(min(len(lines.lines), sum(line.strip().isdigit() for line in lines.lines)), len(asf.bones))
    if too_large:
        raise lines.wrong(too_large, len(lines.lines))
    frames: list[Array] = []
    seen: set[str] = set()
    begun = 0
    while lines:
        words = lines.take("a frame")
        if words[0].startswith(":"):
            degrees = {":degrees": True, ":radians": False}.get(words[0].lower(), degrees)
        elif len(words) == 1 and words[0].isdigit():
            _check_frame(lines, by_name, seen, begun)
            frames.append(np.full(width, np.nan))
            seen, begun = set(), lines.at
        else:
            if not frames:
                lines.fail(f"the number of the first frame is expected, found '{words[0][:40]}'")
            if words[0] not in by_name:
                lines.fail(f"skeleton {asf_path.name} has no bone '{words[0][:40]}'{did_you_mean(words[0], by_name)}")
            bone = by_name[words[0]]
            if bone.name in seen:
                lines.fail(f"bone '{bone.name}' occurs twice in one frame")
            if len(words) - 1 != len(bone.freedom):
                lines.fail(f"bone '{bone.name}' has {len(bone.freedom)} degrees of freedom, found {len(words) - 1} values")
            seen.add(bone.name)
            start = columns[bone.name]
            frames[-1][start : start + len(bone.freedom)] = lines.numbers(words[1:], f"bone '{bone.name}'")
    if not frames:
        raise lines.wrong("the file holds no frames", len(lines.lines))
    _check_frame(lines, by_name, seen, begun)
    table = np.array(frames)
    if degrees:
        turning = [f.startswith("r") for b in asf.bones for f in b.freedom]
        table[:, turning] = np.deg2rad(table[:, turning])
    return table, columns


def _check_frame(lines: Lines, bones: dict[str, Bone], seen: set[str], begun: int) -> None:
    """Every bone that can move must occur in every frame."""
    missing = [b.name for b in bones.values() if b.freedom and b.name not in seen]
    if begun and missing:
        raise lines.wrong(f"the frame that begins here has no values of bone '{missing[0]}'", begun)


def _assemble(asf: Asf, table: Array, columns: dict[str, int], fps: float, notes: tuple[str, ...]) -> SkeletonMotion:
    count = len(asf.bones)
    rotations = np.empty((len(table), count, 4))
    root = np.zeros((len(table), 3))
    for k, bone in enumerate(asf.bones):
        start = columns[bone.name]
        rotation = np.tile([1.0, 0.0, 0.0, 0.0], (len(table), 1))
        for i, freedom in enumerate(bone.freedom):
            values = table[:, start + i]
            if freedom[0] == "r":
                # the first freedom is applied first
                rotation = quat_multiply(about(freedom[1].upper(), values), rotation)
            elif freedom[0] == "t" and k == 0:
                root[:, "xyz".index(freedom[1])] = values
        rotations[:, k] = quat_multiply(quat_multiply(bone.axis, rotation), quat_conjugate(bone.axis))
        if k == 0:
            rotations[:, 0] = quat_multiply(rotations[:, 0], bone.axis)
    parents = np.array(asf.parents, np.int64)
    # a joint is at the far end of its parent bone
    offsets = np.array([np.zeros(3) if p < 0 else asf.bones[p].along for p in asf.parents])
    tips = tuple(
        (k, (float(b.along[0]), float(b.along[1]), float(b.along[2])))
        for k, b in enumerate(asf.bones)
        if k not in asf.parents
    )  # fmt: skip
    names = tuple(b.name for b in asf.bones)
    return SkeletonMotion(names, parents, offsets, rotations, root, fps, tips, asf.unit, notes)

"""BVH, in and out: Biovision's hierarchy of joints with rotation channels, then a table of frames in degrees."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manikin.clips.skeleton import MOST_JOINTS, SkeletonMotion, change_axes, check_size, euler_to_quat
from manikin.clips.text import Lines, read_lines
from manikin.errors import did_you_mean
from manikin.files import one_line, whole_file
from manikin.spatial import quat_to_matrix

Array = NDArray[np.float64]

CHANNELS = ("Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation")
_CHANNEL = {name.lower(): name for name in CHANNELS}

# Written: heading, sideways roll, pitch for the root; flexion, abduction, twist for the rest. The middle angle, the one that
# must not come near 90 degrees, is the one that rarely does.
ROOT_ORDER, JOINT_ORDER = "YZX", "XZY"
# our axes (X forward, Y left, Z up) in those of BVH (Z forward, X left, Y up)
TO_BVH = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
# the deepest chain accepted: hair and tails have some tens of joints
DEEPEST = 500


@dataclass
class _Joint:
    name: str
    parent: int
    line: int
    offset: list[float] | None = None
    channels: list[str] | None = None


@dataclass
class _Hierarchy:
    joints: list[_Joint] = field(default_factory=list)
    ends: list[tuple[int, tuple[float, float, float]]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def read_bvh(path: Path) -> SkeletonMotion:
    """A BVH file (or .bvh.gz) in its own units and axes. Errors name the line."""
    lines = Lines(path, read_lines(path))
    hierarchy = _read_hierarchy(lines)
    rows, fps = _read_frames(lines, sum(len(j.channels or ()) for j in hierarchy.joints), len(hierarchy.joints))
    return _assemble(hierarchy, rows, fps)


# --- hierarchy


def _read_hierarchy(lines: Lines) -> _Hierarchy:
    words = lines.take("HIERARCHY")
    if [w.upper() for w in words] != ["HIERARCHY"]:
        lines.fail(f"a BVH file begins with HIERARCHY, found '{' '.join(words)[:40]}'")
    words = lines.take("ROOT")
    if words[0].upper() != "ROOT":
        lines.fail(f"ROOT is expected, found '{words[0][:40]}'")
    out = _Hierarchy()
    stack = [_open_joint(lines, out, words, -1)]
    while stack:
        words = lines.take("'}'")
        keyword = words[0].upper()
        here = out.joints[stack[-1]]
        if keyword == "}":
            _check_whole(lines, here)
            stack.pop()
        elif keyword == "OFFSET":
            here.offset = _offset(lines, words, here.offset)
        elif keyword == "CHANNELS":
            here.channels = _channels(lines, words, here)
        elif keyword == "JOINT":
            if len(stack) >= DEEPEST:
                lines.fail(f"joints are nested more than {DEEPEST} deep")
            stack.append(_open_joint(lines, out, words, stack[-1]))
        elif keyword == "END":
            out.ends.append((stack[-1], _end_site(lines)))
        elif keyword in ("MOTION", "ROOT"):
            lines.fail(f"{keyword} before the '}}' of joint '{here.name}' (opened in line {here.line})")
        else:
            lines.fail(
                f"unknown word '{words[0][:40]}'{did_you_mean(keyword, ('OFFSET', 'CHANNELS', 'JOINT', 'End Site', '}'))}"
            )
    return out


def _open_joint(lines: Lines, out: _Hierarchy, words: list[str], parent: int) -> int:
    line = lines.at
    brace = words[-1] == "{" and len(words) > 2
    name = " ".join(words[1:-1] if brace else words[1:])
    if not name:
        lines.fail(f"{words[0]} without a name")
    if name in out.names:
        lines.fail(f"a second joint is called '{name[:40]}'")
    if len(out.joints) >= MOST_JOINTS:
        lines.fail(f"more than {MOST_JOINTS} joints")
    if not brace:
        _expect_brace(lines, f"joint '{name}'")
    out.names.add(name)
    out.joints.append(_Joint(name, parent, line))
    return len(out.joints) - 1


def _expect_brace(lines: Lines, what: str) -> None:
    words = lines.take(f"'{{' of {what}")
    if words != ["{"]:
        lines.fail(f"'{{' of {what} is expected, found '{' '.join(words)[:40]}'")


def _offset(lines: Lines, words: list[str], before: object) -> list[float]:
    if before is not None:
        lines.fail("a second OFFSET of the same joint")
    if len(words) != 4:
        lines.fail(f"OFFSET needs three numbers, found {len(words) - 1}")
    return lines.numbers(words[1:], "OFFSET")


def _channels(lines: Lines, words: list[str], here: _Joint) -> list[str]:
    if here.channels is not None:
        lines.fail(f"a second CHANNELS of joint '{here.name}'")
    if len(words) < 2:
        lines.fail("CHANNELS without a number")
    count, names = lines.whole(words[1], "CHANNELS"), words[2:]
    if count != len(names):
        lines.fail(f"CHANNELS announces {count} channels, {len(names)} follow")
    out = []
    for name in names:
        if name.lower() not in _CHANNEL:
            lines.fail(f"unknown channel '{name[:40]}'{did_you_mean(name, CHANNELS)}")
        if _CHANNEL[name.lower()] in out:
            lines.fail(f"channel {name} occurs twice in joint '{here.name}'")
        out.append(_CHANNEL[name.lower()])
    return out


def _end_site(lines: Lines) -> tuple[float, float, float]:
    if lines.lines[lines.at - 1].split()[-1] != "{":
        _expect_brace(lines, "End Site")
    offset = None
    while (words := lines.take("the '}' of an End Site"))[0] != "}":
        if words[0].upper() != "OFFSET":
            lines.fail(f"an End Site holds an OFFSET only, found '{words[0][:40]}'")
        offset = _offset(lines, words, offset)
    if offset is None:
        lines.fail("an End Site without OFFSET")
    return (offset[0], offset[1], offset[2])


def _check_whole(lines: Lines, joint: _Joint) -> None:
    if joint.offset is None:
        lines.fail(f"joint '{joint.name}' (opened in line {joint.line}) has no OFFSET")
    if joint.channels is None:
        lines.fail(f"joint '{joint.name}' (opened in line {joint.line}) has no CHANNELS")


# --- frames


def _read_frames(lines: Lines, width: int, joints: int) -> tuple[Array, float]:
    words = lines.take("MOTION")
    if words[0] == "}":
        lines.fail("one '}' too many")
    if [w.upper() for w in words] != ["MOTION"]:
        lines.fail(f"MOTION is expected after the hierarchy, found '{' '.join(words)[:40]}'")
    frames = lines.whole(_labelled(lines, "Frames:"), "Frames")
    if not frames:
        lines.fail("Frames is 0: there is no motion")
    word = _labelled(lines, "Frame Time:")
    step = lines.numbers([word], "Frame Time")[0]
    if not 1e-6 <= step <= 100:
        lines.fail(f"Frame Time is {word}: seconds per frame, above zero and at most 100, are expected")
    if width == 0:
        lines.fail("no joint has any channel: there is no motion")
    # the file cannot hold more frames than lines
    too_large = check_size(min(frames, len(lines.lines)), joints)
    if too_large:
        lines.fail(too_large)
    table: list[Array] = []
    first = lines.at
    while lines:
        words = lines.take("a frame")
        if len(table) == frames:
            lines.fail(f"Frames announces {frames} frames, found one more")
        if len(words) != width:
            lines.fail(f"frame {len(table) + 1} has {len(words)} numbers for {width} channels")
        table.append(np.array(lines.numbers(words, f"frame {len(table) + 1}")))
    if len(table) != frames:
        raise lines.wrong(f"Frames announces {frames} frames, the file ends after {len(table)}", max(first, len(lines.lines)))
    return np.array(table), _round_rate(1.0 / step)


def _labelled(lines: Lines, label: str) -> str:
    """The one word after a label, which some exporters write without a space after the colon."""
    text = " ".join(lines.take(label)).replace(":", ": ")
    head = text[: len(label)]
    words = text[len(label) :].split()
    if head.lower() != label.lower() or len(words) != 1:
        lines.fail(f"'{label} ...' is expected, found '{text[:40]}'")
    return words[0]


def _round_rate(fps: float) -> float:
    """Frame Time is often cut to few digits (.0083333): a rate within 0.1 % of a whole number is that number."""
    return float(round(fps)) if round(fps) and abs(fps / round(fps) - 1) < 1e-3 else fps


def _assemble(hierarchy: _Hierarchy, rows: Array, fps: float) -> SkeletonMotion:
    """Split the table by joint. Position channels replace the OFFSET of the root; other joints keep their lengths."""
    count = len(hierarchy.joints)
    offsets = np.array([j.offset for j in hierarchy.joints], float)
    rotations = np.zeros((len(rows), count, 4))
    root = np.tile(offsets[0], (len(rows), 1))
    notes, column = [], 0
    for j, joint in enumerate(hierarchy.joints):
        channels = joint.channels or []
        mine = rows[:, column : column + len(channels)]
        column += len(channels)
        turning = [k for k, name in enumerate(channels) if name.endswith("rotation")]
        rotations[:, j] = euler_to_quat(np.deg2rad(mine[:, turning]), "".join(channels[k][0] for k in turning))
        moving = {"XYZ".index(name[0]): mine[:, k] for k, name in enumerate(channels) if name.endswith("position")}
        if j == 0:
            for axis, values in moving.items():
                root[:, axis] = values
        elif any(np.ptp(values) > 1e-3 * max(1.0, np.abs(offsets).max()) for values in moving.values()):
            notes.append(f"joint '{joint.name}' changes its length: its position channels are left out")
        elif len(moving) == 3:
            # exporters repeat the constant offset in every frame
            offsets[j] = [float(np.median(moving[axis])) for axis in range(3)]
    parents = np.array([j.parent for j in hierarchy.joints], np.int64)
    names = tuple(j.name for j in hierarchy.joints)
    return SkeletonMotion(names, parents, offsets, rotations, root, fps, tuple(hierarchy.ends), None, tuple(notes))


# --- writing


def write_bvh(motion: SkeletonMotion, path: Path, unit: float = 0.01) -> None:
    """Write a motion (metres, Z up) as BVH: Y up, centimetres unless `unit` [m] says otherwise. Same motion, same bytes."""
    out = replace(change_axes(motion, TO_BVH, 1.0 / unit), joints=_names(motion.joints))
    children = [motion.children(j) for j in range(len(motion.joints))]
    order = _depth_first(children)
    text = ["HIERARCHY", *_hierarchy_text(out, children)]
    columns = [out.root, *(np.rad2deg(_unwrapped(out.rotations[:, j], _order(j))) for j in order)]
    table = np.hstack(columns)
    text += ["MOTION", f"Frames: {len(table)}", f"Frame Time: {1.0 / motion.fps:.9f}"]
    text += [" ".join([f"{v + 0.0:.6f}" for v in row]) for row in np.round(table, 6)]
    with whole_file(path) as stream:
        stream.write(("\n".join(text) + "\n").encode())


def _names(joints: Sequence[str]) -> tuple[str, ...]:
    """Names of joints in a BVH must differ and hold no blanks."""
    out: dict[str, None] = {}
    for joint in joints:
        plain = "_".join(one_line(joint).split()) or "joint"
        name, number = plain, 2
        while name in out:
            name, number = f"{plain}_{number}", number + 1
        out[name] = None
    return tuple(out)


def _order(joint: int) -> str:
    return JOINT_ORDER if joint else ROOT_ORDER


def _depth_first(children: Sequence[Sequence[int]]) -> list[int]:
    """Joints in the order of the file."""
    order, stack = [], [0]
    while stack:
        j = stack.pop()
        order.append(j)
        stack.extend(reversed(children[j]))
    return order


def _hierarchy_text(motion: SkeletonMotion, children: Sequence[Sequence[int]]) -> list[str]:
    out: list[str] = []

    def add(joint: int, depth: int) -> None:
        tab = "\t" * depth
        offset = np.zeros(3) if joint == 0 else motion.offsets[joint]
        rotations = " ".join(f"{c}rotation" for c in _order(joint))
        channels = f"3 {rotations}" if joint else f"6 Xposition Yposition Zposition {rotations}"
        out.extend(
            [f"{tab}{'JOINT' if joint else 'ROOT'} {motion.joints[joint]}", f"{tab}{{", f"{tab}\t{_offset_text(offset)}"]
        )
        out.append(f"{tab}\tCHANNELS {channels}")
        for child in children[joint]:
            add(child, depth + 1)
        tips = [np.array(o) for p, o in motion.ends if p == joint]
        if not children[joint] and not tips:
            # a chain must end somewhere: programs draw its last bone that long
            tips = [0.5 * motion.offsets[joint] if motion.offsets[joint].any() else np.array([0.0, 1.0, 0.0])]
        for tip in tips:
            out.extend([f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\t{_offset_text(tip)}", f"{tab}\t}}"])
        out.append(f"{tab}}}")

    add(0, 0)
    return out


def _offset_text(offset: Array) -> str:
    return "OFFSET " + " ".join(f"{v + 0.0:.6f}" for v in np.round(offset, 6))


def _unwrapped(quaternions: Array, order: str) -> Array:
    """Angles (T, 3) [rad] about the axes of `order`, without jumps from frame to frame: programs interpolate them."""
    angles = quat_to_euler(quaternions, order)
    other = angles + np.pi
    other[:, 1] = np.pi - angles[:, 1]
    out = np.empty_like(angles)
    last = np.zeros(3)
    for t in range(len(angles)):
        both = np.stack([angles[t], other[t]])
        both -= 2 * np.pi * np.round((both - last) / (2 * np.pi))
        out[t] = last = both[int(np.argmin(np.abs(both - last).sum(axis=1)))]
    return out


def quat_to_euler(quaternions: Array, order: str) -> Array:
    """Angles (T, 3) [rad] of rotations (T, 4) as products about three different axes, the first outermost; the middle one in
    [-90, 90] degrees. At exactly 90 only a sum is determined: the last is zero there."""
    i, j, k = ("XYZ".index(c) for c in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    m = quat_to_matrix(quaternions)
    middle = np.arctan2(sign * m[:, i, k], np.hypot(m[:, i, i], m[:, i, j]))
    locked = np.hypot(m[:, i, i], m[:, i, j]) < 1e-9
    first = np.where(locked, np.arctan2(sign * m[:, k, j], m[:, j, j]), np.arctan2(-sign * m[:, j, k], m[:, k, k]))
    last = np.where(locked, 0.0, np.arctan2(-sign * m[:, i, j], m[:, i, i]))
    return np.stack([first, middle, last], axis=1)

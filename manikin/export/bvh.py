"""BVH: the motion of a character's skeleton as text, in centimetres and degrees, Y up.

A BVH joint has no rotation at rest, so rotations count from the model's zero pose, in which all axes are the world's.
"""

from pathlib import Path

import numpy as np

from manikin.clips.bvh import write_bvh
from manikin.clips.skeleton import SkeletonMotion
from manikin.errors import OutputError
from manikin.export.track import Track, body_track
from manikin.recording import Recording
from manikin.spatial import quat_conjugate, quat_multiply, rotate


def save_bvh(recording: Recording, path: Path) -> list[Path]:
    """Write the motion of the first character to `path`, of each further one next to it: talk.bvh, talk_<name>.bvh.

    BVH cannot hold props. Returns what was written.
    """
    track, fps = body_track(recording), float(recording.meta["fps"])
    if not track.characters:
        raise OutputError(f"{path}: nothing to write (BVH holds characters, and this recording has none)")
    files: dict[Path, SkeletonMotion] = {}
    for root, bodies in track.characters.items():
        name = (root.rpartition("/")[0] or root).replace("/", "_")
        file = path.with_name(f"{path.stem}_{name}{path.suffix}") if files else path
        motion, slip = skeleton_motion(track, bodies, fps)
        if slip > 1e-6:
            raise OutputError(f"{path}: BVH keeps bones at their length, but in '{root}' a joint slides by {slip:.4f} m")
        files[file] = motion
    for file, motion in files.items():
        write_bvh(motion, file)
    return list(files)


def skeleton_motion(track: Track, bodies: list[int], fps: float) -> tuple[SkeletonMotion, float]:
    """A character's skeleton and its motion (metres, Z up), and how far [m] a joint ever leaves its place on its parent.

    One frame per recorded frame; names lack the character's prefix.
    """
    above = track.joints_above(bodies)
    parents = [bodies.index(a) if a else -1 for a in above]
    place, rest = track.poses.position[:, bodies], track.rest.position[bodies]
    since = quat_multiply(track.poses.quat[:, bodies], quat_conjugate(track.rest.quat[bodies]))
    offsets, rotations, slip = np.zeros((len(bodies), 3)), since.copy(), 0.0
    for k, parent in enumerate(parents):
        if parent >= 0:
            back = quat_conjugate(since[:, parent])
            offsets[k] = rest[k] - rest[parent]
            rotations[:, k] = quat_multiply(back, since[:, k])
            slip = max(slip, float(np.abs(rotate(back, place[:, k] - place[:, parent]) - offsets[k]).max()))
    prefix = track.name(bodies[0]).rpartition("/")[0]
    names = _words([track.name(b).removeprefix(f"{prefix}/") for b in bodies])
    motion = SkeletonMotion(names, np.array(parents), offsets, rotations, place[:, 0], fps, _ends(track, bodies, parents))
    return motion, slip


def _words(names: list[str]) -> tuple[str, ...]:
    """Names as single words, all different: BVH separates by blanks."""
    out: list[str] = []
    for name in names:
        word = wanted = "_".join(name.split()) or "joint"
        number = 2
        while word in out:
            word, number = f"{wanted}_{number}", number + 1
        out.append(word)
    return tuple(out)


def _ends(track: Track, bodies: list[int], parents: list[int]) -> tuple[tuple[int, tuple[float, float, float]], ...]:
    """Tips of the chains: a last body is assumed to end as far beyond its centre of mass as it begins before it."""
    out = []
    for k in sorted(set(range(len(bodies))) - set(parents)):
        x, y, z = 2 * rotate(track.rest.quat[bodies[k]], track.model.body_ipos[bodies[k]])
        out.append((k, (float(x), float(y), float(z))))
    return tuple(out)

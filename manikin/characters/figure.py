"""The surface of the human: an artist's lay figure of rigid wooden shells, from stature, mass and sex.

The shells are visual only; they have no mass and do not collide. The forms are in `figure_parts`, the mesher is in
`sdf`. A build takes a second or two and is kept in the user's cache folder.
"""

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from manikin.characters.body_plan import HEIGHT_RANGE, MASS_RANGE, Sex, skeleton
from manikin.characters.figure_parts import Build, build, parts
from manikin.characters.sdf import mesh
from manikin.errors import InputError, did_you_mean
from manikin.files import cache_folder

SEXES: tuple[str, ...] = get_args(Sex)

# Increase this when the layout of the cached file changes.
FORMAT = 1
_SOURCES = ("body_plan.py", "figure.py", "figure_parts.py", "sdf.py")
_LIBRARIES = ("numpy", "scikit-image", "fast-simplification")


@dataclass(frozen=True)
class Shell:
    """One closed surface that moves with a body; read-only arrays in the body's frame.

    The frame has world axes in the standing zero pose and its origin in the joint centre. Faces run counter-clockwise
    seen from outside.
    """

    body: str
    material: str
    vertices: NDArray[np.float32]  # (n, 3) [m]
    faces: NDArray[np.int32]  # (m, 3)
    normals: NDArray[np.float32]  # (n, 3), unit, outward


def shells(height: float, mass: float, sex: str = "neutral") -> tuple[Shell, ...]:
    """The figure of a human of stature `height` [m] and `mass` [kg]: the middle and left shells, then the right ones.

    The right side is the left one mirrored, number for number. The result is the same with and without a cache.
    """
    _check(height, mass, sex)
    file = _cache_file(height, mass, sex)
    half = _load(file) if file else None
    if half is None:
        half = _carve(height, mass, build(height, mass, sex))
        if file:
            _store(file, half)
    for shell in half:
        for array in (shell.vertices, shell.faces, shell.normals):
            array.flags.writeable = False
    return half + tuple(_mirrored(shell) for shell in half if shell.body.endswith("_l"))


def _check(height: float, mass: float, sex: str) -> None:
    """Raise for values that no human can be built from."""
    for what, value, (low, high), unit in (("height", height, HEIGHT_RANGE, "m"), ("mass", mass, MASS_RANGE, "kg")):
        if not low <= value <= high:
            raise InputError(f"figure: {what} {value:g} {unit} is outside {low:g} to {high:g} {unit}")
    if sex not in SEXES:
        raise InputError(f"figure: unknown sex '{sex}'{did_you_mean(sex, SEXES)}")


def _carve(height: float, mass: float, b: Build) -> tuple[Shell, ...]:
    """The middle and left shells, meshed."""
    joints = {segment.name: segment.at for segment in skeleton(height, mass)}
    out = []
    for part in parts(b):
        surface = mesh(part.shape, part.vertices, part.oversampling)
        vertices = (surface.vertices * height - joints[part.body]).astype(np.float32)
        out.append(Shell(part.body, part.material, vertices, surface.faces, surface.normals.astype(np.float32)))
    return tuple(out)


def _mirrored(shell: Shell) -> Shell:
    """The same shell on the right: y negated, and the winding reversed so that outside stays outside."""
    flip = np.array([1, -1, 1], dtype=np.float32)
    vertices, normals = shell.vertices * flip, shell.normals * flip
    faces = np.ascontiguousarray(shell.faces[:, ::-1])
    for array in (vertices, faces, normals):
        array.flags.writeable = False
    return Shell(shell.body[:-1] + "r", shell.material, vertices, faces, normals)


def _cache_file(height: float, mass: float, sex: str) -> Path | None:
    """Where this build is cached; the name changes with the parameters, our sources and the libraries. None: nowhere."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    try:
        for name in _SOURCES:
            digest.update((here / name).read_bytes())
        libraries = [version(name) for name in _LIBRARIES]
        folder = cache_folder()
    except (OSError, RuntimeError, PackageNotFoundError):
        return None
    digest.update(json.dumps([FORMAT, float(height), float(mass), sex, libraries]).encode())
    return folder / f"figure-{digest.hexdigest()[:32]}.npz"


def _load(file: Path) -> tuple[Shell, ...] | None:
    """The shells cached in `file`, or None if it is missing or cannot be read."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
            bodies, materials, counts = data["bodies"], data["materials"], data["counts"]
            vertices, faces, normals = data["vertices"], data["faces"], data["normals"]
        ends = np.cumsum(counts, axis=0)
        shapes = (vertices.shape, faces.shape, normals.shape, counts.shape, materials.shape)
        whole = shapes == ((ends[-1, 0], 3), (ends[-1, 1], 3), (ends[-1, 0], 3), (len(bodies), 2), bodies.shape)
        if not whole or (vertices.dtype, faces.dtype, normals.dtype) != (np.float32, np.int32, np.float32):
            return None
        # copies, so that each shell owns its arrays, as a newly built one does
        points = [a.copy() for a in np.split(vertices, ends[:-1, 0])]
        triangles = [a.copy() for a in np.split(faces, ends[:-1, 1])]
        directions = [a.copy() for a in np.split(normals, ends[:-1, 0])]
    except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    return tuple(map(Shell, map(str, bodies), map(str, materials), points, triangles, directions))


def _store(file: Path, half: tuple[Shell, ...]) -> None:
    """Cache the shells in `file`, whole or not at all; a folder that cannot be written is no error."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".npz")
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez_compressed(
                    stream,
                    bodies=np.array([s.body for s in half]),
                    materials=np.array([s.material for s in half]),
                    counts=np.array([[len(s.vertices), len(s.faces)] for s in half]),
                    vertices=np.concatenate([s.vertices for s in half]),
                    faces=np.concatenate([s.faces for s in half]),
                    normals=np.concatenate([s.normals for s in half]),
                )
            os.replace(name, file)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError:
        return

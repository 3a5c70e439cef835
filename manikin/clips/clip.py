"""Clip: a motion as a structure of arrays, and the library of clips that ships with the package."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manikin.clips.text import kind_of
from manikin.errors import ClipError, did_you_mean
from manikin.files import load_npz, one_line, save_npz

Array = NDArray[np.float64]

# largest values accepted in a clip: positions and angles, frames per second, stature [m]; and the smallest stature
LARGEST, FASTEST, TALLEST, SHORTEST = 1e6, 10_000.0, 100.0, 0.01


@dataclass(frozen=True)
class Clip:
    """fps, hinge names, poses (T, 7 + joints): root position [m], root quaternion wxyz, hinge angles [rad].

    contacts (T, 2): whether the left and the right sole rest. height [m]: stature the root positions belong to.
    """

    fps: float
    joints: tuple[str, ...]
    qpos: Array
    contacts: NDArray[np.bool_]
    height: float

    def __post_init__(self) -> None:
        frames = len(self.qpos)
        if not frames or self.qpos.shape != (frames, 7 + len(self.joints)) or self.contacts.shape != (frames, 2):
            raise ClipError("a clip's arrays do not match in shape")
        if not np.isfinite(self.qpos).all() or not (0 < self.fps < np.inf and 0 < self.height < np.inf):
            raise ClipError("a clip's numbers must be finite, its fps and height above zero")
        if float(np.abs(self.qpos).max()) > LARGEST or not (self.fps <= FASTEST and SHORTEST <= self.height <= TALLEST):
            raise ClipError(
                f"a clip's numbers are at most {LARGEST:g} [m, rad], its fps at most {FASTEST:g} and its height {SHORTEST:g} to"
                f" {TALLEST:g} m"
            )
        if np.abs(np.linalg.norm(self.qpos[:, 3:7], axis=1) - 1).max() > 0.01:
            raise ClipError("a clip's root quaternions must have length 1")
        if len(set(self.joints)) < len(self.joints):
            raise ClipError("two hinges of a clip have the same name")

    def angles(self, joints: tuple[str, ...]) -> Array:
        """Angles (T, k) [rad] of the named hinges, zero where the clip has none."""
        column = {name: 7 + i for i, name in enumerate(self.joints)}
        out = np.zeros((len(self.qpos), len(joints)))
        for k, name in enumerate(joints):
            if name in column:
                out[:, k] = self.qpos[:, column[name]]
        return out

    def root(self, height: float) -> Array:
        """Root poses (T, 7) for a body of another stature: all lengths of our bodies scale with it."""
        out = self.qpos[:, :7].copy()
        out[:, :3] *= height / self.height
        return out


def save_clip(clip: Clip, path: Path | str) -> None:
    """Write a clip as .npz without pickles."""
    save_npz(
        Path(path),
        {
            "fps": clip.fps,
            "joints": np.array(clip.joints),
            "qpos": clip.qpos.astype(np.float32),
            "contacts": clip.contacts,
            "height": clip.height,
        },
    )


def library() -> list[str]:
    """Names of the clips that ship with the package."""
    folder = resources.files("manikin.clips") / "library"
    return sorted(f.name.removesuffix(".npz") for f in folder.iterdir() if f.name.endswith(".npz"))


def load_clip(name: str | Path) -> Clip:
    """A shipped clip by name, or a clip file (.npz)."""
    path, name = Path(name), str(name)
    if kind_of(path) in (".bvh", ".amc"):
        raise ClipError(f"{path}: a motion file belongs to another body; retarget it (manikin.motion.retarget.read_clip)")
    if path.suffix == ".npz":
        return _read(path)
    if path.is_file():
        raise ClipError(f"{path}: a clip is .npz, .bvh or .amc (or .gz of the last two)")
    if name not in library():
        raise ClipError(f"no clip is called '{name}'{did_you_mean(name, library())}")
    with resources.as_file(resources.files("manikin.clips") / "library" / f"{name}.npz") as shipped:
        return _read(shipped)


def _read(path: Path) -> Clip:
    data = load_npz(path, ClipError)
    try:
        # a damaged file may contain any bits, even signalling NaNs
        with np.errstate(invalid="ignore"):
            qpos = data["qpos"].astype(float)
        return Clip(
            float(data["fps"]),
            tuple(str(j) for j in data["joints"]),
            qpos,
            data["contacts"].astype(bool),
            float(data["height"]),
        )
    except KeyError as error:
        raise ClipError(f"{path}: not a clip (it has no {error})") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ClipError(f"{path}: not a clip ({one_line(' '.join(str(error).split()))[:200]})") from error
    except ClipError as error:
        raise ClipError(f"{path}: {error}") from None

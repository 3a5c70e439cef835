"""Clips: those that ship, files that are none, and writing and reading back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manikin.characters.body_plan import joint_names
from manikin.clips.clip import Clip, library, load_clip, save_clip
from manikin.errors import ClipError


@pytest.mark.parametrize("name", library())
def test_shipped_clips_are_whole(name: str) -> None:
    clip = load_clip(name)
    assert set(clip.joints) == set(joint_names())
    assert np.allclose(np.linalg.norm(clip.qpos[:, 3:7], axis=1), 1, atol=1e-6)
    assert clip.contacts.all()
    assert (np.abs(clip.qpos[:, 2] - 0.53 * clip.height) < 0.45 * clip.height).all()


def test_the_styles_of_the_lift_are_there() -> None:
    assert {"stand", "lift_back", "lift_knees"} <= set(library())


def test_the_clips_of_other_jobs_are_there() -> None:
    assert {"reach", "catch", "toss", "rope"} <= set(library())


def test_there_and_back(tmp_path: Path) -> None:
    clip = load_clip("lift_back")
    save_clip(clip, tmp_path / "a.npz")
    back = load_clip(str(tmp_path / "a.npz"))
    assert (back.fps, back.joints, back.height) == (clip.fps, clip.joints, clip.height)
    assert (back.qpos == clip.qpos).all()
    assert (back.contacts == clip.contacts).all()
    save_clip(back, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_angles_by_name() -> None:
    clip = load_clip("lift_knees")
    angles = clip.angles(("no_such_joint", "shank_l_flexion"))
    assert not angles[:, 0].any()
    assert (angles[:, 1] == clip.qpos[:, 7 + clip.joints.index("shank_l_flexion")]).all()
    assert angles[:, 1].max() > 0.5


def test_root_scales_with_stature() -> None:
    clip = load_clip("stand")
    tall = clip.root(2 * clip.height)
    assert np.allclose(tall[:, :3], 2 * clip.qpos[:, :3])
    assert (tall[:, 3:] == clip.qpos[:, 3:7]).all()


def test_unknown_names_and_files(tmp_path: Path) -> None:
    with pytest.raises(ClipError, match="did you mean 'lift_back'"):
        load_clip("lift_bakc")
    with pytest.raises(ClipError, match="no such file"):
        load_clip(str(tmp_path / "no.npz"))
    (tmp_path / "noise.npz").write_bytes(b"noise")
    with pytest.raises(ClipError, match=r"noise\.npz"):
        load_clip(str(tmp_path / "noise.npz"))
    np.savez(tmp_path / "other.npz", fps=30.0)
    with pytest.raises(ClipError, match="not a clip"):
        load_clip(str(tmp_path / "other.npz"))
    np.savez(tmp_path / "text.npz", fps="fast", joints=[], qpos=[[0.0]], contacts=[], height=1.0)
    with pytest.raises(ClipError, match="not a clip"):
        load_clip(str(tmp_path / "text.npz"))


def test_arrays_must_fit() -> None:
    clip = load_clip("stand")
    nan = np.full_like(clip.qpos, np.nan)
    wrong = [
        {"qpos": clip.qpos[:, :-1]}, {"qpos": clip.qpos[0]}, {"qpos": clip.qpos[:0], "contacts": clip.contacts[:0]},
        {"contacts": clip.contacts[:-1]}, {"joints": ()}, {"qpos": nan}, {"fps": 0.0}, {"height": float("nan")},
        {"height": 1e-300},
    ]  # fmt: skip
    for change in wrong:
        with pytest.raises(ClipError):
            replace(clip, **change)
    assert isinstance(replace(clip, fps=60.0), Clip)

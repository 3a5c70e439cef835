"""One convention for all animation files: imported into Blender (Z up), a character that faces X in a recording faces -Y.

Blender turns what is Y up (glTF, BVH) by 90 degrees about X, and takes USD files that are Z up as they are.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from glb_reader import Glb
from numpy.typing import NDArray
from test_bvh_export import places, read

import manikin as mk

Array = NDArray[np.float64]
Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
FRAMES = (0, 20, 133)


def from_glb(path: Path, names: list[str], frames: int) -> Array:
    glb = Glb(path)
    return np.array([glb.transforms(frames)[glb.names[name], :, :3, 3] for name in names])[:, FRAMES] @ Z_UP.T


def from_bvh(path: Path, names: list[str], frames: int) -> Array:
    joints, table, _ = read(path)
    assert len(table) == frames
    rows = [[j.name for j in joints].index(name) for name in names]
    return np.stack([places(joints, table[f])[0][rows] / 100 for f in FRAMES], axis=1) @ Z_UP.T


def from_usd(path: Path, names: list[str], frames: int) -> Array:
    pytest.importorskip("pxr", reason="usd-core is missing: pip install manikin[usd]")
    from pxr import Usd, UsdGeom, UsdSkel

    stage: Any = Usd.Stage.Open(str(path))
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    root = UsdSkel.Root(next(p for p in stage.Traverse() if p.IsA(UsdSkel.Root)))
    cache = UsdSkel.Cache()
    assert cache.Populate(root, Usd.PrimDefaultPredicate)
    query = cache.GetSkelQuery(cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)[0].GetSkeleton())
    rows = [[j.rpartition("/")[2] for j in query.GetJointOrder()].index(name) for name in names]
    found = [np.array(query.ComputeJointWorldTransforms(UsdGeom.XformCache(f)))[rows, 3, :3] for f in FRAMES]
    return np.stack(found, axis=1)


@pytest.mark.parametrize(("kind", "read_back"), [("glb", from_glb), ("bvh", from_bvh), ("usdc", from_usd)])
def test_every_kind_faces_the_front_view_with_the_same_joints(
    lift: mk.Take, saved_lift: Callable[[str], Path], kind: str, read_back: Callable[[Path, list[str], int], Array]
) -> None:
    recording = lift.recording
    names = recording.meta["characters"]["pelvis"]
    found = dict(zip(names, read_back(saved_lift(f"lift.{kind}"), names, len(recording.time))))
    # toes before heels, and the head above the pelvis
    for side, across in (("l", 1.0), ("r", -1.0)):
        ahead = found[f"toes_{side}"][0] - found[f"foot_{side}"][0]
        assert ahead[1] < -0.1
        assert found[f"foot_{side}"][0][0] * across > 0.1
    assert (found["head"] - found["pelvis"])[0][2] > 0.4
    # where MuJoCo had them, X ahead turned to -Y
    import mujoco

    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data = mujoco.MjData(model)
    for k, frame in enumerate(FRAMES):
        data.qpos[:] = recording.qpos[frame]
        mujoco.mj_kinematics(model, data)
        for name in names:
            x, y, z = data.body(name).xpos
            assert found[name][k] == pytest.approx([y, -x, z], abs=1e-5), (name, frame)

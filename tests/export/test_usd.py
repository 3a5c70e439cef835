"""USD files, opened by Pixar's own library, against MuJoCo's kinematics."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from odd_recording import odd_recording, world_poses
from pxr import Usd, UsdGeom, UsdShade, UsdSkel, UsdValidation
from scipy.spatial import cKDTree

import manikin as mk
from manikin.export.save import USD

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def file(saved_lift: Callable[[str], Path]) -> Path:
    return saved_lift("lift.usdc")


@pytest.fixture(scope="module")
def stage(file: Path) -> Any:
    return Usd.Stage.Open(str(file))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[mk.Recording, Any]:
    """Two characters with turned bodies, a tool, a door: what the lift does not have."""
    recording, path = odd_recording(), tmp_path_factory.mktemp("usd") / "odd.usda"
    mk.save(recording, path)
    return recording, Usd.Stage.Open(str(path))


# the root turns forward, our X, to -Y: our axes (x, y, z) are the file's (-y, x, z)
TO_OURS = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def skeletons(stage: Any) -> list[tuple[Any, list[Any]]]:
    """Each skeleton's query, with the queries of the skins that hang on it."""
    out = []
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root):
            cache, root = UsdSkel.Cache(), UsdSkel.Root(prim)
            assert cache.Populate(root, Usd.PrimDefaultPredicate)
            for binding in cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate):
                out.append((cache.GetSkelQuery(binding.GetSkeleton()), binding.GetSkinningTargets()))
    return out


def joint_names(query: Any) -> list[str]:
    return [path.rpartition("/")[2] for path in query.GetJointOrder()]


def samples(stage: Any) -> list[float]:
    animations = [UsdSkel.Animation(p) for p in stage.Traverse() if p.IsA(UsdSkel.Animation)]
    return list(animations[0].GetRotationsAttr().GetTimeSamples())


def assert_joints_agree(recording: mk.Recording, stage: Any) -> None:
    model, frames = world_poses(recording)
    ids = {model.body(b).name.replace("/", "_"): b for b in range(model.nbody)}
    codes = samples(stage)
    assert len(codes) == len(frames)
    for query, _ in skeletons(stage):
        bodies = [ids[name] for name in joint_names(query)]
        worst = turned = 0.0
        for code, data in zip(codes, frames):
            found = np.array(query.ComputeJointWorldTransforms(UsdGeom.XformCache(code)))
            worst = max(worst, np.abs(found[:, 3, :3] @ TO_OURS.T - data.xpos[bodies]).max())
            axes = (TO_OURS @ found[:, :3, :3].transpose(0, 2, 1)).reshape(-1, 9)
            turned = max(turned, np.abs(axes - data.xmat[bodies]).max())
        # 0.01 mm
        assert worst <= 1e-5
        assert turned <= 1e-5


def assert_prims_agree(recording: mk.Recording, stage: Any, prims: dict[str, str]) -> None:
    """Prims (path: body) are where the bodies were, turned as they were."""
    _, frames = world_poses(recording)
    for code, data in zip(samples(stage), frames):
        cache = UsdGeom.XformCache(code)
        for path, body in prims.items():
            found = np.array(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(path)))
            assert np.abs(TO_OURS @ found[3, :3] - data.body(body).xpos).max() <= 1e-5, (path, code)
            assert np.abs((TO_OURS @ found[:3, :3].T).ravel() - data.body(body).xmat).max() <= 1e-5, (path, code)


def test_every_joint_is_where_it_was_in_every_frame(lift: mk.Take, stage: Any) -> None:
    (query, _) = skeletons(stage)[0]
    assert joint_names(query) == lift.recording.meta["characters"]["pelvis"]
    assert query.GetJointOrder()[3] == "pelvis/lumbar/thorax/head"
    assert query.HasBindPose()
    assert query.HasRestPose()
    assert_joints_agree(lift.recording, stage)


def test_the_box_is_where_it_was_and_has_its_size(lift: mk.Take, stage: Any) -> None:
    assert_prims_agree(lift.recording, stage, {"/lift/box": "box"})
    points = np.array(UsdGeom.Mesh(stage.GetPrimAtPath("/lift/box/box")).GetPointsAttr().Get())
    assert np.allclose(points.max(axis=0), [0.20, 0.15, 0.15], atol=1e-6)
    assert np.allclose(points.min(axis=0), [-0.20, -0.15, -0.15], atol=1e-6)


def skinned(query: Any, target: Any, code: float) -> Array:
    points = UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get()
    transforms = query.ComputeSkinningTransforms(code)
    assert target.ComputeSkinnedPoints(transforms, points, code)
    return np.array(points, float)


def test_the_skin_moves_with_the_bones(lift: mk.Take, stage: Any) -> None:
    model, frames = world_poses(lift.recording)
    ((query, (target,)),) = skeletons(stage)
    deepest = int(np.argmin(lift.recording.qpos[:, 2]))
    for frame in (0, deepest, len(frames) - 1):
        data, theirs = frames[frame], []
        for geom in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH):
            mesh = model.geom_dataid[geom]
            points = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
            theirs.append(data.geom_xpos[geom] + points @ data.geom_xmat[geom].reshape(3, 3).T)
        expected, ours = np.concatenate(theirs), skinned(query, target, samples(stage)[frame])
        # the two number their vertices differently: compare them as sets, both ways
        assert cKDTree(expected).query(ours)[0].max() <= 1e-5
        assert cKDTree(ours).query(expected)[0].max() <= 1e-5
        low, high = UsdSkel.Root(stage.GetPrimAtPath("/lift/pelvis_figure")).GetExtentAttr().Get(samples(stage)[frame])
        assert (ours >= low).all()
        assert (ours <= high).all()


def test_surfaces_wind_outwards_and_are_painted(stage: Any) -> None:
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/lift/pelvis_figure/skin"))
    points, normals = (np.array(a.Get(), float) for a in (mesh.GetPointsAttr(), mesh.GetNormalsAttr()))
    faces = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    a, b, c = points[faces].transpose(1, 0, 2)
    # a body of 75 kg, a little lighter than water
    assert 0.06 < float((np.cross(a, b) * c).sum() / 6) < 0.11
    assert ((np.cross(b - a, c - a) * normals[faces].sum(axis=1)).sum(axis=1) > 0).mean() > 0.99
    subsets = UsdShade.MaterialBindingAPI(mesh).GetMaterialBindSubsets()
    assert sorted(i for s in subsets for i in s.GetIndicesAttr().Get()) == list(range(len(faces)))
    materials = [UsdShade.MaterialBindingAPI(s).ComputeBoundMaterial()[0] for s in subsets]
    assert {"wood", "joint"} <= {m.GetPath().name for m in materials}
    shader = materials[0].ComputeSurfaceSource()[0]
    assert shader.GetIdAttr().Get() == "UsdPreviewSurface"
    # wood, in linear light
    assert np.allclose(shader.GetInput("diffuseColor").Get(), [0.729, 0.393, 0.162], atol=1e-3)


def test_scale_axes_and_rate(lift: mk.Take, stage: Any) -> None:
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert stage.GetDefaultPrim().GetPath() == "/lift"
    assert stage.GetTimeCodesPerSecond() == lift.recording.meta["fps"]
    codes = samples(stage)
    assert codes == list(range(len(lift.recording.time)))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (codes[0], codes[-1])
    # a frame is the physics step nearest to its time code
    gap = np.abs(np.array(codes) / stage.GetTimeCodesPerSecond() - lift.recording.time)
    assert gap.max() <= lift.recording.meta["timestep"] / 2 + 1e-9


def test_rotations_take_the_short_way(stage: Any) -> None:
    rotations = UsdSkel.Animation(stage.GetPrimAtPath("/lift/pelvis_figure/skeleton/motion")).GetRotationsAttr()
    values = np.array([[[q.real, *q.imaginary] for q in rotations.Get(code)] for code in samples(stage)])
    assert ((values[1:] * values[:-1]).sum(axis=2) > 0).all()


# --- what the lift does not have


def test_several_characters_and_turned_bodies(odd: tuple[mk.Recording, Any]) -> None:
    recording, stage = odd
    assert len(skeletons(stage)) == 2
    assert_joints_agree(recording, stage)


def test_every_kind_of_prop(odd: tuple[mk.Recording, Any]) -> None:
    recording, stage = odd
    prims = {"door": "door", "door/knob": "knob", "hammer_1": "hammer-1", "materials_2": "materials", "world": "world"}
    assert_prims_agree(recording, stage, {f"/odd_one/{path}": body for path, body in prims.items()})
    # what stands still has no samples
    still = UsdGeom.Xformable(stage.GetPrimAtPath("/odd_one/materials_2"))
    assert not still.TransformMightBeTimeVarying()
    # two colours: one mesh in two parts
    knob = UsdGeom.Mesh(stage.GetPrimAtPath("/odd_one/door/knob/knob"))
    assert len(UsdShade.MaterialBindingAPI(knob).GetMaterialBindSubsets()) == 2


def test_a_last_moment_between_frames_stays_there(odd: tuple[mk.Recording, Any]) -> None:
    recording, stage = odd
    codes = samples(stage)
    assert codes[:-1] == list(range(len(codes) - 1))
    assert codes[-1] == pytest.approx(30.0 * recording.time[-1])
    assert stage.GetEndTimeCode() == codes[-1]


def test_the_skin_of_turned_bodies(odd: tuple[mk.Recording, Any]) -> None:
    recording, stage = odd
    _, frames = world_poses(recording)
    query, (target,) = skeletons(stage)[1]
    points = skinned(query, target, samples(stage)[20])
    hand = np.array(target.GetJointIndicesPrimvar().Get()) == joint_names(query).index("ben_hand")
    assert np.array(target.GetJointWeightsPrimvar().Get()) == pytest.approx(1.0)
    # the hand is a ball around a point of its body
    data = frames[20].body("ben/hand")
    centre = data.xpos + data.xmat.reshape(3, 3) @ [0.02, 0.0, 0.0]
    assert np.abs(np.linalg.norm(points[hand] - centre, axis=1) - 0.04).max() <= 1e-5


def test_a_recording_without_characters(tmp_path: Path) -> None:
    mk.save(odd_recording(people=" "), tmp_path / "a.usd")
    stage = Usd.Stage.Open(str(tmp_path / "a.usd"))
    assert not skeletons(stage)
    assert stage.GetPrimAtPath("/odd_one/door/knob").IsA(UsdGeom.Xform)


# --- files


def problems(path: Path) -> list[str]:
    """What all validators of the library say."""
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) > 10
    return [e.GetErrorAsString() for e in UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(path)))]


def test_the_validators_find_nothing(lift: mk.Take, tmp_path: Path) -> None:
    for name, take in (("lift", lift.recording), ("odd", odd_recording())):
        mk.save(take, tmp_path / f"{name}.usda")
        assert problems(tmp_path / f"{name}.usda") == []


def test_the_validators_would_find_something(tmp_path: Path) -> None:
    mk.save(odd_recording(), tmp_path / "a.usda")
    text = (tmp_path / "a.usda").read_text()
    (tmp_path / "b.usda").write_text(text.replace('defaultPrim = "odd_one"', "").replace('"SkelBindingAPI"', '"NoAPI"'))
    assert len(problems(tmp_path / "b.usda")) >= 2


def test_text_and_binary_by_extension_and_the_same_bytes_twice(lift: mk.Take, file: Path, tmp_path: Path) -> None:
    for kind in USD:
        for name in ("a", "b"):
            mk.save(lift, tmp_path / f"{name}{kind}")
        content = (tmp_path / f"a{kind}").read_bytes()
        assert content.startswith(b"#usda 1.0" if kind == ".usda" else b"PXR-USDC")
        assert content == (tmp_path / f"b{kind}").read_bytes()
    assert (tmp_path / "a.usdc").read_bytes() == file.read_bytes()
    mk.save(lift, tmp_path / "A.USDA")
    assert (tmp_path / "A.USDA").read_bytes() == (tmp_path / "a.usda").read_bytes()


def test_text_and_binary_say_the_same(stage: Any, lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "a.usda")
    text = Usd.Stage.Open(str(tmp_path / "a.usda"))
    assert text.GetRootLayer().ExportToString() == stage.GetRootLayer().ExportToString()


def test_without_the_library_one_line_says_what_to_install(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pxr", None)
    code, out, err = command("run", "lift", "--out", "good.npz", "--out", "lift.usdc")
    assert code == 2
    assert out == ""
    assert err == "manikin: lift.usdc: USD files need one more package: pip install manikin[usd]\n"
    assert not list(tmp_path.iterdir())


def test_the_library_is_loaded_only_for_usd() -> None:
    program = (
        "import sys, pathlib, manikin.export.save as s; s.check_output(pathlib.Path('a.glb')); print('pxr' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"

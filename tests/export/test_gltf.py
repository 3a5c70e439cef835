"""GLB files, read back by a reader of our own and by the Khronos validator, against MuJoCo's own kinematics."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from glb_reader import SPOTLESS, TO_OURS, Glb
from numpy.typing import NDArray
from scipy.spatial import cKDTree

import manikin as mk

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def file(saved_lift: Callable[[str], Path]) -> Path:
    return saved_lift("lift.glb")


@pytest.fixture(scope="module")
def glb(file: Path) -> Glb:
    return Glb(file)


@pytest.fixture(scope="module")
def places(glb: Glb, lift: mk.Take) -> Array:
    return glb.transforms(len(lift.recording.time))


def in_mujoco(recording: mk.Recording, frame: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data = mujoco.MjData(model)
    data.qpos[:] = recording.qpos[frame]
    mujoco.mj_kinematics(model, data)
    return model, data


def test_every_body_is_where_it_was_in_every_frame(lift: mk.Take, glb: Glb, places: Array) -> None:
    recording = lift.recording
    model, data = in_mujoco(recording, 0)
    nodes = [glb.names[model.body(b).name] for b in range(1, model.nbody)]
    assert {"pelvis", "hand_l", "box"} <= glb.names.keys()
    worst = turned = 0.0
    for frame, qpos in enumerate(recording.qpos):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        worst = max(worst, np.abs(places[nodes, frame, :3, 3] @ TO_OURS.T - data.xpos[1:]).max())
        axes = TO_OURS @ places[nodes, frame, :3, :3] @ TO_OURS.T
        turned = max(turned, np.abs(axes.reshape(-1, 9) - data.xmat[1:]).max())
    # 0.01 mm
    assert worst <= 1e-5
    assert turned <= 1e-5


def test_keys_are_on_whole_frames_and_rotations_are_the_short_ones(lift: mk.Take, glb: Glb) -> None:
    tracks = glb.tracks()
    assert len(tracks) > 20
    for (_, what), (times, values) in tracks.items():
        assert np.abs(times * 60 - np.arange(len(times))).max() < 1e-4
        # each is the physics step nearest to it
        assert np.abs(times - lift.recording.time).max() < 0.5 * lift.recording.meta["timestep"] + 1e-6
        if what == "rotation":
            assert np.abs(np.linalg.norm(values, axis=1) - 1).max() < 1e-6
            assert ((values[1:] * values[:-1]).sum(axis=1) > 0).all()


def test_the_skin_moves_with_the_bones(lift: mk.Take, glb: Glb, places: Array) -> None:
    frame = int(np.argmin(lift.recording.qpos[:, 2]))
    model, data = in_mujoco(lift.recording, frame)
    theirs = []
    for geom in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH):
        mesh = model.geom_dataid[geom]
        points = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
        theirs.append(data.geom_xpos[geom] + points @ data.geom_xmat[geom].reshape(3, 3).T)
    figure = [n for n, node in enumerate(glb.nodes) if "skin" in node]
    assert len(figure) == 1
    ours = np.concatenate([points for points, _ in glb.skinned(figure[0], places, frame)])
    expected = np.concatenate(theirs)
    assert len(ours) <= 15_000
    # the two number their vertices differently: compare them as sets, both ways
    assert cKDTree(expected).query(ours)[0].max() <= 5e-5
    assert cKDTree(ours).query(expected)[0].max() <= 5e-5


def volume(points: Array, faces: NDArray[np.int64]) -> float:
    """Positive when the triangles of a closed surface wind outwards."""
    a, b, c = points[faces].transpose(1, 0, 2)
    return float((np.cross(a, b) * c).sum() / 6)


def test_the_skin_winds_outwards(lift: mk.Take, glb: Glb, places: Array) -> None:
    figure = next(n for n, node in enumerate(glb.nodes) if "skin" in node)
    primitives = glb.json["meshes"][glb.nodes[figure]["mesh"]]["primitives"]
    total = 0.0
    for (points, faces), primitive in zip(glb.skinned(figure, places, 0), primitives):
        assert volume(points, faces) > 0
        total += volume(points, faces)
        # and the normals agree with the winding, in the bind pose where they are given
        rest = glb.accessor(primitive["attributes"]["POSITION"]).astype(float)
        normals = glb.accessor(primitive["attributes"]["NORMAL"]).astype(float)
        assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < 1e-3
        a, b, c = rest[faces].transpose(1, 0, 2)
        agree = (np.cross(b - a, c - a) * normals[faces].sum(axis=1)).sum(axis=1) > 0
        assert agree.mean() > 0.99
    # a body of 75 kg, a little lighter than water
    assert 0.06 < total < 0.11


def test_the_box_has_its_size(glb: Glb) -> None:
    mesh = glb.json["meshes"][glb.nodes[glb.names["box"]]["mesh"]]
    points = glb.accessor(mesh["primitives"][0]["attributes"]["POSITION"]) @ TO_OURS.T
    assert np.allclose(points.max(axis=0), [0.20, 0.15, 0.15], atol=1e-6)
    assert np.allclose(points.min(axis=0), [-0.20, -0.15, -0.15], atol=1e-6)


def test_written_twice_is_identical(lift: mk.Take, file: Path, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "again.glb")
    assert (tmp_path / "again.glb").read_bytes() == file.read_bytes()


# --- the Khronos validator


def test_khronos_finds_nothing_in_the_lift(validate: Callable[[Path], dict[str, int]], file: Path) -> None:
    assert validate(file) == SPOTLESS


def test_khronos_finds_nothing_in_other_scenes(
    validate: Callable[[Path], dict[str, int]], stand: Callable[..., mk.Scene], tmp_path: Path
) -> None:
    """All shapes, a fixed prop, and a take of a single frame."""
    shapes = {"rod": ("capsule", [0.05, 0.4]), "can": ("cylinder", [0.05, 0.2]), "crate": ("box", [0.2, 0.2, 0.2])}
    props = {
        f"props.{name}": {"shape": shape, "size": size, "at": [1.0, k, 0.5], "fixed": name == "rod"}
        for k, (name, (shape, size)) in enumerate(shapes.items())
    }
    for name, seconds in (("moving", 0.1), ("still", 0.002)):
        mk.save(mk.run(stand(**props), seconds=seconds), tmp_path / f"{name}.glb")
        assert validate(tmp_path / f"{name}.glb") == SPOTLESS, name


def test_khronos_would_find_something(validate: Callable[[Path], dict[str, int]], file: Path, tmp_path: Path) -> None:
    broken = file.read_bytes().replace(b'"VEC4"', b'"VEC3"', 1)
    (tmp_path / "broken.glb").write_bytes(broken)
    assert validate(tmp_path / "broken.glb")["numErrors"] > 0

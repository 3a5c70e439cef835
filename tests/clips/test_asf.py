"""ASF and AMC: a small skeleton worked out by hand, what is refused, and a CMU trial in both of its formats."""

from pathlib import Path

import numpy as np
import pytest

from manikin.clips.asf import read_amc, read_asf
from manikin.clips.roles import find_roles
from manikin.clips.skeleton import global_poses
from manikin.clips.source import read_motion
from manikin.errors import ClipError

ASF = """# a comment
:version 1.10
:name small
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  nothing to see
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name hip
    direction 1 0 0
    length 2
    axis 0 0 0 XYZ
  end
  begin
    id 2
    name thigh
    direction 0 -1 0
    length 7
    axis 0 0 90 XYZ
    dof rx ry
    limits (-10 20)
           (-10 20)
  end
  begin
    id 3
    name shin
    direction 0 -1 0
    length 8
    axis 0 0 0 XYZ
    dof rz
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh shin
  end
"""
AMC = """#!OML:ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 0 0 0
thigh 0 0
shin 0
2
root 1 2 3 0 90 0
thigh 90 0
shin 90
"""

# file, old, new, line, what is said
BROKEN = [
    (".asf", ASF[ASF.index(":hierarchy") :], "", 40, "without :hierarchy"),
    (".asf", "length 0.45", "length 0", 6, "above zero"),
    (".asf", "angle deg", "angle grad", 7, "did you mean 'rad'?"),
    (".asf", "axis XYZ", "axis XYY", 12, "not an order of axes"),
    (".asf", "    name hip\n", "", 21, "has no name"),
    (".asf", "    length 2\n", "", 21, "has no length"),
    (".asf", "direction 1 0 0", "direction 1 0", 19, "three numbers"),
    (".asf", "direction 1 0 0", "direction 1 O 0", 19, "'O' in direction is not a number"),
    (".asf", "dof rx ry", "dof rx rw", 29, "unknown degree of freedom 'rw'"),
    (".asf", "dof rx ry", "dof rx rx", 29, "occurs twice"),
    (".asf", "name shin", "name thigh", 40, "second bone is called 'thigh'"),
    (".asf", "    hip thigh\n", "", 45, "bone 'thigh' is not connected to the root"),
    (".asf", "thigh shin\n", "thigh shim\n", 45, "did you mean 'shin'?"),
    (".asf", "    thigh shin\n  end", "    thigh shin", 45, "the file ends where 'end' of the hierarchy"),
    (".amc", "1\nroot", "root", 4, "number of the first frame is expected"),
    (".amc", "thigh 0 0", "thgh 0 0", 6, "did you mean 'thigh'?"),
    (".amc", "thigh 0 0", "thigh 0", 6, "bone 'thigh' has 2 degrees of freedom, found 1 values"),
    (".amc", "thigh 0 0", "thigh 0 x", 6, "'x' in bone 'thigh' is not a number"),
    (".amc", "thigh 0 0", "thigh 0 nan", 6, "not a finite number"),
    (".amc", "thigh 0 0\n", "", 4, "no values of bone 'thigh'"),
    (".amc", "thigh 0 0\n", "thigh 0 0\nthigh 0 0\n", 7, "occurs twice"),
    (".amc", AMC, "", 1, "holds no frames"),
]


def put(folder: Path, asf: str = ASF, amc: str = AMC) -> Path:
    (folder / "s.asf").write_text(asf)
    (folder / "s_01.amc").write_text(amc)
    return folder / "s_01.amc"


def test_a_leg_by_hand(tmp_path: Path) -> None:
    """Rotations are about axes given in the world at rest: thigh's x axis is the world's y."""
    motion = read_amc(put(tmp_path))
    assert motion.joints == ("root", "hip", "thigh", "shin")
    assert motion.metres == pytest.approx(0.0254 / 0.45)
    places, turns = global_poses(motion)
    assert np.allclose(places[0], [[1, 2, 3], [1, 2, 3], [3, 2, 3], [3, -5, 3]])
    # frame 2: the root turns a quarter about y (x goes to -z), the thigh another about y: both leave "down" alone
    assert np.allclose(places[1], [[1, 2, 3], [1, 2, 3], [1, 2, 1], [1, -5, 1]])
    # half a turn about y, then a quarter about z: what pointed down points along -x
    assert motion.ends == ((3, (0.0, -8.0, 0.0)),)
    tip = places[1, 3] + _rotate(turns[1, 3], [0.0, -8.0, 0.0])
    assert np.allclose(tip, [-7, -5, 1])


def _rotate(q: np.ndarray, v: list[float]) -> np.ndarray:
    from manikin.spatial import rotate

    return rotate(q, np.array(v))


def test_rate_is_said_or_taken_to_be_120(tmp_path: Path) -> None:
    path = put(tmp_path)
    usual = read_amc(path)
    assert usual.fps == 120
    assert any("no rate" in note for note in usual.notes)
    given = read_amc(path, fps=60.0)
    assert given.fps == 60
    assert not any("no rate" in note for note in given.notes)


def test_radians(tmp_path: Path) -> None:
    amc = AMC.replace(":DEGREES", ":RADIANS").replace("90", repr(float(np.pi / 2)))
    assert np.allclose(read_amc(put(tmp_path, amc=amc)).rotations, read_amc(put(tmp_path)).rotations)


def test_the_skeleton_next_to_it(tmp_path: Path) -> None:
    path = put(tmp_path)
    (tmp_path / "other.asf").write_text("nonsense")
    assert len(read_amc(path).joints) == 4, "s.asf begins the name of s_01.amc"
    (tmp_path / "s.asf").rename(tmp_path / "t.asf")
    with pytest.raises(ClipError, match=r"there are 2 \.asf files in its folder: give --skeleton"):
        read_amc(path)
    assert len(read_amc(path, tmp_path / "t.asf").joints) == 4
    (tmp_path / "t.asf").unlink()
    (tmp_path / "other.asf").unlink()
    with pytest.raises(ClipError, match=r"there is no \.asf in its folder"):
        read_amc(path)


@pytest.mark.parametrize(("kind", "old", "new", "line", "says"), BROKEN)
def test_broken_files_are_refused_with_their_line(
    tmp_path: Path, kind: str, old: str, new: str, line: int, says: str
) -> None:  # fmt: skip
    text = {".asf": ASF, ".amc": AMC}[kind]
    assert old in text
    broken = text.replace(old, new, 1)
    path = put(tmp_path, **{kind[1:]: broken})
    with pytest.raises(ClipError) as error:
        read_amc(path)
    assert says in str(error.value)
    assert f"{kind} line {line}: " in str(error.value)
    assert "\n" not in str(error.value)


def test_the_cmu_skeleton(mocap: Path) -> None:
    asf = read_asf(mocap / "mocap_cmu_asfamc" / "02.asf")
    assert (len(asf.bones), sum(len(b.freedom) for b in asf.bones)) == (31, 62)


def test_amc_and_bvh_of_one_trial_agree(mocap: Path) -> None:
    """02_01 in both formats: within 0.5 cm at every joint of every frame, once the BVH's lost bones are put back."""
    folder = mocap / "mocap_cmu_asfamc"
    amc, bvh = read_motion(folder / "02_01.amc"), read_motion(folder / "02_01.bvh.gz")
    assert len(amc.root) == len(bvh.root) == 343, "the T-pose that the BVH begins with is dropped"
    ours, theirs = find_roles(amc), find_roles(bvh)
    assert set(ours) == set(theirs)
    a, b = global_poses(amc)[0], global_poses(bvh)[0]
    for role in ours:
        assert np.linalg.norm(a[:, ours[role]] - b[:, theirs[role]], axis=1).max() < 0.005, role

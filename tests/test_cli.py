"""The command line: what it answers, and how it refuses. Exit 0: it ran; 2: bad input, in one line; 1: the run failed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import manikin as mk
from manikin.recording import load_recording

Command = Callable[..., tuple[int, str, str]]

# what is typed: what the one line must say
BAD = {
    "run": ["scene"],
    "run lfit": ["'lfit'", "did you mean 'lift'?"],
    "run missing.toml": ["missing.toml: no such file"],
    "run words.toml": ["words.toml", "not TOML", "line 1"],
    "run noise.toml": ["noise.toml: not a text file"],
    "run .": ["cannot be read"],
    "run lift --bogus": ["--bogus"],
    "run lift --seconds soon": ["--seconds"],
    "run lift --seconds 0": ["seconds", "given 0.0", "greater than 0"],
    "run lift --seconds nan": ["seconds", "finite"],
    "run lift --seed 1.5": ["--seed"],
    "run lift --clip lift_nees": ["character.clip", "did you mean 'lift_knees'?"],
    "run lift --clip noise.npz": ["character.clip", "noise.npz"],
    "run lift --set props.box.mass": ["path=value"],
    "run lift --set =3": ["path=value"],
    "run lift --set props.box.mas=3": ["props.box.mas: unknown key", "did you mean 'mass'?"],
    "run lift --set tasks.hands.frequncy=3": ["tasks.hands.frequncy", "did you mean 'frequency'?"],
    "run lift --set colour=3": ["colour: unknown key"],
    "run lift --set steps.lft.timeout=2": ["steps.lft.timeout", "did you mean 'lift'?"],
    "run lift --set props.box.mass.x=2": ["props.box.mass.x", "plain value"],
    "run lift --set props.box.mass=-2": ["props.box.mass", "given -2", "greater than 0"],
    "run lift --set props.box.mass=heavy": ["props.box.mass", "given 'heavy'", "number"],
    "run lift --set props.box.mass='2'": ["props.box.mass", "given '2'", "number"],
    "run lift --set props.box.mass=true": ["props.box.mass", "given true", "number"],
    "run lift --set props.box.mass=nan": ["props.box.mass", "given nan", "finite"],
    "run lift --set props.box.at=[inf,0,0]": ["props.box.at.0", "given inf", "finite"],
    "run lift --set character.height=0.2": ["character.height", "given 0.2", "1.2"],
    "run lift --set character.sex=3": ["character.sex", "given 3"],
    "run lift --set character.locked=['shank_flexion']": ["character.locked", "did you mean 'shank_"],
    "run lift --set tasks.hands.of=['hand_m']": ["tasks.hands.of", "'hand_m'", "did you mean 'hand_"],
    "run lift --set tasks.hands.law=stabilise": ["tasks.hands.law", "did you mean 'stabilize'?"],
    "run lift --out no/lift.npz": ["no/lift.npz", "'no' does not exist"],
    "run lift --out noise.npz/lift.npz": ["noise.npz/lift.npz", "does not exist"],
    "run lift --out lift.gbl": ["lift.gbl", "'.gbl'", "did you mean '.glb'?"],
    "run lift --out lift.jsn": ["did you mean '.json'?"],
    "run lift --out lift.gltf": ["'.gltf'", "did you mean '.glb'?"],
    "run lift --out lift": ["unknown kind of file"],
    "check": ["file"],
    "check missing.npz": ["missing.npz: no such file"],
    "check noise.npz": ["noise.npz", "not a readable .npz"],
    "check noise.toml": ["noise.toml"],
    "check words.txt": ["'.txt'"],
    "check words.glb": ["unknown kind of file '.glb' (allowed: .toml"],
    "check words.bhv": ["did you mean '.bvh'?"],
    "bench nonsense": ["nonsense"],
    "lst": ["lst"],
}  # fmt: skip


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_line_and_nothing_is_written(command: Command, tmp_path: Path, words: str) -> None:
    (tmp_path / "noise.toml").write_bytes(np.random.default_rng(1).bytes(999))
    (tmp_path / "noise.npz").write_bytes(np.random.default_rng(2).bytes(999))
    (tmp_path / "words.toml").write_text("once upon a time\n")
    for kind in ("txt", "glb", "bhv"):
        (tmp_path / f"words.{kind}").write_text("once upon a time\n")
    before = {f: f.read_bytes() for f in tmp_path.iterdir()}
    first, *rest = words.split()
    # a good output comes first, and must not be written either
    good = ["--out", "good.npz"] if first == "run" else []
    code, said, err = command(first, *good, *rest)
    assert code == 2
    assert err.count("\n") == 1
    assert err.startswith("manikin: ")
    for part in BAD[words]:
        assert part in err
    assert said == ""
    assert {f: f.read_bytes() for f in tmp_path.iterdir()} == before


def test_every_kind_of_file_and_every_name_is_in_the_help(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from manikin.bench import BENCHMARKS
    from manikin.export.save import EXTENSIONS
    from manikin.papers import DOCUMENTS

    # wide enough that no word is broken
    monkeypatch.setenv("COLUMNS", "400")
    words = command("run", "--help").out
    assert [kind for kind in EXTENSIONS if kind not in words] == []
    assert [name for name in BENCHMARKS if name not in command("bench", "--help").out] == []
    assert [name for name in DOCUMENTS if name not in command("reproduce", "--help").out] == []


@pytest.mark.parametrize("asked", ["osmesa", "nonsense"])
def test_a_renderer_that_is_missing_is_named(tmp_path: Path, asked: str) -> None:
    # a library folder that is empty, as on a machine without OSMesa
    program = "import ctypes, sys\nctypes.CDLL = lambda name, *_: (_ for _ in ()).throw(OSError(name))\n"
    program += "from manikin.renderer import choose_renderer, trouble\n"
    program += "import manikin, ctypes, importlib\nimportlib.reload(ctypes)\nfrom manikin.cli import main\nmain()\n"
    environment = os.environ | {"MUJOCO_GL": asked, "PYTHONPATH": str(Path(mk.__file__).parents[1])}
    error = only_pictures_are_refused([sys.executable, "-c", program], environment, tmp_path)
    assert error.startswith(f"manikin: no picture can be drawn here: MUJOCO_GL={asked} ")
    assert ("libosmesa6" in error) == (asked == "osmesa")


def only_pictures_are_refused(program: list[str], environment: dict[str, str], folder: Path) -> str:
    """Without a renderer a scene is still checked, and a picture is refused in one line; that line."""
    for words in (["check", "lift"], ["run", "lift", "--out", "a.png"]):
        result = subprocess.run([*program, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if words[0] == "check":
            assert (result.returncode, result.stderr) == (0, "")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize(
    ("display", "says"),
    [
        (None, "MUJOCO_GL=glfw needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set"),
        (":77", "the display cannot be used"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a window system needs no display")
def test_a_window_system_without_a_display_is_one_line(tmp_path: Path, display: str | None, says: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment |= {"MUJOCO_GL": "glfw", "PYTHONPATH": str(Path(mk.__file__).parents[1])}
    environment |= {} if display is None else {"DISPLAY": display}
    error = only_pictures_are_refused([sys.executable, "-m", "manikin"], environment, tmp_path)
    assert error.startswith(f"manikin: no picture can be drawn here: {says}")


def test_without_a_command_it_helps(command: Command) -> None:
    code, out, err = command()
    assert code == 2
    assert "manikin run lift" in out
    assert err == ""


def test_list_and_version(command: Command) -> None:
    code, out, _ = command("list", "--json")
    scenes = {s["name"]: s for s in json.loads(out)}
    assert code == 0
    assert scenes["lift"]["description"]
    assert command("--version")[1] == f"manikin {mk.__version__}\n"


def test_run_saves_and_reports(command: Command, tmp_path: Path) -> None:
    words = ["--seconds", "0.1", "--set", "steps.lift.timeout=2", "--set", "props.box.mass=15", "--json"]
    code, out, err = command("run", "lift", *words, "--out", "a.npz", "--out", "a.GLB")
    assert (code, err) == (0, "")
    report = json.loads(out.splitlines()[-1])
    assert report["scene"] == "lift"
    assert report["seconds"] == pytest.approx(0.1)
    assert report["seed"] == 0
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.GLB", "a.npz"]
    scene = load_recording(tmp_path / "a.npz").meta["scene"]
    assert "timeout = 2" in scene
    assert "mass = 15" in scene


def test_a_job_that_cannot_be_done_is_no_error(command: Command) -> None:
    words = ["--set", "props.box.mass=200", "--set", "steps.lift.timeout=0.5", "--seconds", "4"]
    code, out, _ = command("run", "lift", *words, "--json")
    report = json.loads(out.splitlines()[-1])
    assert code == 0
    assert report["ok"] is False
    assert report["reason"].startswith("'box' is too heavy; step 'lift' did not lead to 'top'")
    assert "NOT DONE" in out


# stiff hands, strong arms, and a controller that looks ten times a second
WILD = ["tasks.hands.frequency=50", "character.strength=10", "control.rate=10", "steps.reach.tune={}"]


def test_a_run_that_diverges_says_when_and_where_and_keeps_its_recording(command: Command, tmp_path: Path) -> None:
    words = [w for change in WILD for w in ("--set", change)]
    code, out, err = command("run", "lift", *words, "--out", "wild.npz", "--json")
    report = json.loads(out.splitlines()[-1])
    assert code == 1
    assert err.count("\n") == 1
    assert report["reason"] in err
    recording = load_recording(tmp_path / "wild.npz")
    body = report["reason"].split("body '")[1].split("'")[0]
    assert f'name="{body}"' in recording.mjcf
    when = float(report["reason"].split("diverged at ")[1].split(" s")[0])
    assert 0 < when < 10
    assert len(recording.ctrl) == pytest.approx(when / 0.002, abs=2)
    assert recording.time[-1] > when - 0.02
    assert np.isfinite(recording.qpos).all()
    assert mk.replay(recording).difference < 1e-9
    assert [f.name for f in tmp_path.iterdir()] == ["wild.npz"]


def test_divergence_leaves_no_log_file(stand: Callable[..., mk.Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = mk.build_run(stand())
    run.world.data.qvel[6] = np.nan
    with pytest.raises(mk.ManikinError, match=r"diverged at 0\.00. s: body 'pelvis', .*not a number"):
        run.advance(3)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_keeps_what_was_recorded(stand: Callable[..., mk.Scene]) -> None:
    def press_ctrl_c(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    try:
        take = mk.run(stand(), progress=press_ctrl_c)
    except KeyboardInterrupt:
        # which would end all tests
        pytest.fail("the interrupt came through")
    assert take.report["ok"] is False
    assert take.report["reason"].startswith("interrupted at 0.")
    assert 0.15 <= take.recording.time[-1] < 0.25
    assert mk.replay(take.recording).difference < 1e-9


# --- check


def test_check_names_what_it_finds(command: Command, lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "lift.npz")
    code, out, _ = command("check", "lift.npz", "--json")
    found = json.loads(out.splitlines()[-1])
    assert (code, found["kind"], found["ok"], found["steps"]) == (0, "recording", True, len(lift.recording.ctrl))
    assert found["replay_difference"] <= 1e-9
    code, out, _ = command("check", "lift", "--json")
    found = json.loads(out.splitlines()[-1])
    assert (code, found["kind"], found["degrees_of_freedom"]) == (0, "scene", 47 + 6)
    from manikin.clips.clip import load_clip, save_clip

    save_clip(load_clip("stand"), tmp_path / "stand.npz")
    code, out, _ = command("check", "stand.npz", "--json")
    found = json.loads(out.splitlines()[-1])
    assert (code, found["kind"], found["joints"]) == (0, "clip", 41)


def test_check_finds_one_changed_number(command: Command, lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "lift.npz")
    arrays = dict(np.load(tmp_path / "lift.npz"))
    arrays["ctrl"][1000, 3] += 1e-3
    np.savez(tmp_path / "lift.npz", **arrays)
    code, _, err = command("check", "lift.npz")
    assert code == 1
    assert "the replay differs by" in err
    assert float(err.split(" at ")[1].split(" s")[0]) > 2.0


DAMAGE: dict[str, Callable[[dict[str, np.ndarray]], object]] = {
    "mjcf": lambda a: a.update(mjcf=np.array("<mujoco><nonsense/></mujoco>")),
    "mjcf of another model": lambda a: a.update(mjcf=np.array("<mujoco><worldbody/></mujoco>")),
    "meta no JSON": lambda a: a.update(meta=np.array("{")),
    "meta no table": lambda a: a.update(meta=np.array("3")),
    "missing": lambda a: a.pop("ctrl"),
    "initial": lambda a: a.update(initial=a["initial"][:-1]),
    "initial of text": lambda a: a.update(initial=a["initial"].astype(str)),
    "ctrl": lambda a: a.update(ctrl=a["ctrl"][:, :-1]),
    "qpos": lambda a: a.update(qpos=a["qpos"][:-1]),
    "no frames": lambda a: a.update({k: a[k][:0] for k in ("time", "step", "qpos", "qvel")}),
    "eq": lambda a: a["eq"].__setitem__((0, 1), 999),
    "eq no number": lambda a: a["eq"].__setitem__((0, 0), np.nan),
    "pickle": lambda a: a.update(time=np.array([{}], dtype=object)),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_check_refuses_a_damaged_recording(command: Command, lift: mk.Take, tmp_path: Path, what: str) -> None:
    mk.save(lift, tmp_path / "lift.npz")
    arrays = dict(np.load(tmp_path / "lift.npz"))
    DAMAGE[what](arrays)
    np.savez(tmp_path / "lift.npz", **arrays)
    code, out, err = command("check", "lift.npz")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_check_refuses_a_truncated_recording(command: Command, lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "lift.npz")
    content = (tmp_path / "lift.npz").read_bytes()
    (tmp_path / "lift.npz").write_bytes(content[: len(content) // 2])
    code, _, err = command("check", "lift.npz")
    assert code == 2
    assert "not a readable .npz" in err


# --- as a person types it


def test_another_process_writes_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONHASHSEED": "3", "PYTHONPATH": str(Path(mk.__file__).parents[1])}
    words = ["run", "lift", "--seconds", "0.2", "--out", "a.npz", "--out", "a.glb", "--out", "a.csv"]
    started = [sys.executable, "-m", "manikin", *words]
    result = subprocess.run(started, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    take = mk.run(mk.load_scene("lift"), seconds=0.2)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.csv", "a.glb", "a.npz"]
    for kind in ("npz", "glb", "csv"):
        mk.save(take, tmp_path / f"b.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes(), kind


def test_a_refusal_has_no_traceback_in_a_process_of_its_own(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(mk.__file__).parents[1])}
    started = [sys.executable, "-m", "manikin", "run", "lift", "--set", "props.box.mass=-1"]
    result = subprocess.run(started, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1

"""The preview: what it shows is what then happens, and it costs physics nothing."""

import subprocess
import time

import numpy as np
import pytest

from manikin.errors import InputError
from manikin.scenes.scene import load_scene
from manikin.studio import messages as m
from manikin.studio.live import Live
from manikin.studio.preview import FAN, Previewer, look_ahead
from manikin.studio.session import Session


def answers(previewer: Previewer, count: int, seconds: float = 60.0) -> list[m.PreviewPaths]:
    found: list[m.PreviewPaths] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        found += previewer.results()
        time.sleep(0.01)
    assert len(found) == count
    return found


def held(scene: str, part: str, mode: m.Mode, way: tuple[float, float, float], steps: int = 400) -> Live:
    live = Live(load_scene(scene))
    for _ in range(steps):
        live.step()
    live.give(m.Grab(part, mode))
    assert live.grip is not None
    x, y, z = (float(v) for v in live.grip.pointer + np.array(way))
    live.give(m.Drag((x, y, z)))
    for _ in range(20):
        live.step()
    return live


CASES = [
    ("lift", "hand_r", "task", (0.1, -0.1, 0.3)), ("stand", "thorax", "push", (0.1, 0.05, 0.0)),
    ("chain", "chain_9", "spring", (0.0, 0.2, 0.1)), ("pendulum", "hand/0", "goal", (0.0, 0.1, 0.1)),
    ("stand", "pelvis", "com", (0.03, 0.0, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("scene", "part", "mode", "way"), CASES)
def test_what_is_shown_is_what_happens(scene: str, part: str, mode: m.Mode, way: tuple[float, float, float]) -> None:
    live = held(scene, part, mode, way)
    previewer = Previewer()
    previewer.ask(live)
    (paths,) = answers(previewer, 1)
    previewer.close()
    start = live.time
    lines = {line.body: np.array(line.points) for line in paths.paths}
    worst = moved = 0.0
    for k, t in enumerate(paths.times):
        while live.time - start < t - 1e-9:
            live.step()
        for body, points in lines.items():
            worst = max(worst, float(np.linalg.norm(live.world.data.xpos[live.world.body(body)] - points[k])))
            moved = max(moved, float(np.linalg.norm(points[k] - points[0])))
    assert paths.times[-1] == pytest.approx(1.0)
    assert worst < 1e-3
    assert moved > 0.01, "there was something to foresee"
    assert [round(g.time, 3) for g in paths.ghosts] == [0.25, 0.5, 0.75, 1.0]
    assert len(paths.ghosts[0].poses) == 7 * live.world.model.nbody
    assert m.dump(paths)


def test_a_mass_turned_on_the_way_is_foreseen_too() -> None:
    live = held("pendulum", "bob", "spring", (0.1, 0.0, 0.0))
    live.give(m.Knob("props.bob.mass", 3.0))
    live.step()
    previewer = Previewer()
    previewer.ask(live)
    (paths,) = answers(previewer, 1)
    # and turned back in the same process
    live.give(m.Knob("props.bob.mass", 10.0))
    live.step()
    previewer.ask(live)
    (back,) = answers(previewer, 1)
    previewer.close()
    seen = look_ahead(live, -1, "here")
    assert seen.paths == back.paths
    assert paths.paths != back.paths


def test_five_inputs_and_one_is_taken() -> None:
    live = held("lift", "hand_r", "task", (0.1, -0.1, 0.3))
    previewer = Previewer()
    with pytest.raises(InputError, match="no fan"):
        previewer.choose(1)
    previewer.fan(live)
    paths = answers(previewer, 5)
    previewer.close()
    assert [p.choice for p in paths] == [0, 1, 2, 3, 4]
    ends = [next(line for line in p.paths if line.body == "hand_r").points[-1] for p in paths]
    assert ends[1][1] > ends[0][1] > ends[2][1]
    assert ends[3][2] > ends[0][2] > ends[4][2]
    assert live.grip is not None
    assert previewer.choose(3).goal[2] == pytest.approx(live.grip.pointer[2] + FAN[3][1][2])


def test_the_fan_keeps_the_turn_and_goes_with_its_run(session: Session) -> None:
    session.handle(m.Open("stand"))
    session.handle(m.Step(20))
    session.handle(m.Grab("hand_r", "task"))
    half = 0.5**0.5
    session.handle(m.Drag((0.3, -0.2, 1.0), (half, half, 0.0, 0.0)))
    session.handle(m.Fan())
    session.handle(m.FanTake(3))
    assert session.live.grip.turn == pytest.approx([half, half, 0.0, 0.0])
    session.handle(m.Reset())
    session.handle(m.Grab("hand_r", "task"))
    with pytest.raises(InputError, match="no fan"):
        session.handle(m.FanTake(3))
    session.preview.ask(session.live)
    assert session.preview._waiting == 5, "one question at a time: the old one is still being answered"
    end = time.monotonic() + 60
    while session.preview._waiting and time.monotonic() < end:
        assert session.preview.results() == [], "of the old run"
        time.sleep(0.01)
    session.preview.ask(session.live)
    assert answers(session.preview, 1)[0].start == 0.0


def test_a_busy_process_holds_up_nobody() -> None:
    live = held("chain", "chain_9", "spring", (0.0, 0.2, 0.1), 20)
    previewer = Previewer()
    previewer.ask(live)
    began = time.perf_counter()
    # much more than a pipe holds, while the process is still starting
    for _ in range(20):
        previewer.fan(live)
    assert time.perf_counter() - began < 5
    assert previewer._waiting == 101
    previewer.close()
    assert previewer._process is None


def test_off_it_costs_nothing_and_a_dead_process_is_replaced() -> None:
    live = held("stand", "thorax", "push", (0.1, 0.0, 0.0), 20)
    previewer = Previewer()
    assert previewer._process is None
    assert previewer.results() == []
    assert previewer._process is None
    previewer.ask(live)
    process = previewer._process
    assert isinstance(process, subprocess.Popen)
    previewer.ask(live)
    assert previewer._waiting == 1, "one question at a time"
    process.kill()
    end = time.monotonic() + 20
    while previewer._process is not None and time.monotonic() < end:
        assert previewer.results() == []
        time.sleep(0.01)
    previewer.ask(live)
    assert answers(previewer, 1)[0].choice == -1
    previewer.close()


def test_a_session_previews_while_something_is_held(session: Session, heard: "object") -> None:
    session.handle(m.Open("stand"))
    session.handle(m.Step(20))
    session._send_preview()
    assert session.preview._process is None
    session.handle(m.Preview(True))
    session._send_preview()
    assert session.preview._process is None, "nothing is held"
    session.handle(m.Grab("thorax", "push"))
    with pytest.raises(InputError, match="no fan"):
        session.handle(m.FanTake(0))
    end = time.monotonic() + 60
    while not heard.texts("preview_paths") and time.monotonic() < end:  # type: ignore[attr-defined]
        session._send_preview()
        time.sleep(0.02)
    assert heard.texts("preview_paths")[0]["choice"] == -1  # type: ignore[attr-defined]
    session.handle(m.Fan())
    session.handle(m.FanTake(3))
    assert session.live is not None
    assert session.live.grip is not None
    assert session.live.grip.pointer[2] > 1.3

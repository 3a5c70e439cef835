"""Key poses of creatures: a doll is bent, its poses are kept, and followed through physics."""

import pickle
from functools import partial

import numpy as np
import pytest
from creatures import lamp, starfish
from raw_client import Heard
from test_saved import assert_same

from manikin.errors import InputError
from manikin.scenes.scene import load_scene, parse_text
from manikin.studio import messages as m
from manikin.studio.journal import Journal, Past
from manikin.studio.live import Live, run_again
from manikin.studio.posing import Doll
from manikin.studio.saved import scene_text_of
from manikin.studio.session import Session
from manikin.studio.takes import TakeFolder


def steps(live: Live, count: int) -> None:
    for _ in range(count):
        live.step()


def joints(live: Live) -> np.ndarray:
    return np.rad2deg(live.world.data.qpos[live.board.posture().qpos])


def test_a_doll_is_bent_within_its_limits_and_touches_nothing() -> None:
    live = Live(lamp())
    steps(live, 50)
    state, doll = live.world.full_state(), Doll(live)
    head = doll.world.body("head")
    goal = doll.world.data.xpos[head] + [0.05, 0.03, -0.08]
    doll.bend(m.Pose("head", (0.0, 0.0, 0.0), tuple(goal.tolist())))
    assert np.linalg.norm(doll.world.data.xpos[head] - goal) < 0.01
    assert np.array_equal(doll.world.data.qpos[:7], live.world.data.qpos[:7]), "its root stays"
    assert np.array_equal(live.world.full_state(), state)
    # far out of reach: stretched, not torn
    doll.bend(m.Pose("head", (0.0, 0.0, 0.0), (2.0, 0.0, 2.0)))
    skeleton = live.controller.skeletons[0]  # type: ignore[union-attr]
    angles = np.deg2rad(doll.angles())
    assert (angles >= skeleton.low).all()
    assert (angles <= skeleton.high).all()
    with pytest.raises(InputError, match="is not a bone"):
        doll.bend(m.Pose("world", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    with pytest.raises(InputError, match="direct control"):
        Doll(Live(load_scene("stand")))


def test_flesh_goes_along_with_the_doll_and_a_ring_stays_closed() -> None:
    live = Live(starfish())
    doll = Doll(live)
    tip = doll.world.body("tip_1")
    before, flesh = doll.world.data.xpos[tip].copy(), live.surfaces.vertices(doll.world.data)[0].copy()
    doll.bend(m.Pose("tip_1", (0.0, 0.0, 0.0), tuple((before + [0.0, 0.0, 0.06]).tolist())))
    assert doll.world.data.xpos[tip][2] > before[2] + 0.03
    moved = live.surfaces.vertices(doll.world.data)[0] - flesh
    owner = np.array(live.surfaces.meshes()[0].bodies)
    assert moved[owner == tip][:, 2].mean() > 0.02
    assert np.abs(moved[owner == doll.world.body("tip_3")]).max() < 1e-3
    text = 'name = "ring"\ncontroller = "direct"\ntimestep = 0.0008\n[character]\nmodel = "donut"\n'
    ring = Doll(Live(parse_text(text, "ring")))
    data, top = ring.world.data, ring.world.body("ring_4")
    ring.bend(m.Pose("ring_4", (0.0, 0.0, 0.0), tuple((data.xpos[top] + [0.05, 0.0, -0.03]).tolist())))
    a, b = (data.site_xpos[ring.world.site(s)] for s in ("loop_start", "loop_end"))
    assert np.linalg.norm(a - b) < 2e-3
    assert np.abs(ring.angles()).max() > 1.0


def test_keys_are_met_in_time_through_physics() -> None:
    live = Live(lamp())
    steps(live, 103)
    first = joints(live)
    crouch, up = first + [0, 0, -12, 20, 0, -8], first + [0, 0, 5, -8, 0, 3]
    live.give(m.Follow(((0.4, *crouch.tolist()), (0.9, *up.tolist()))))
    assert live.board.message().follows
    steps(live, 2)
    began = live.time
    while live.time < began + 0.4:
        live.step()
    assert np.abs(joints(live) - crouch).max() < 1.5
    while live.time < began + 1.2:
        live.step()
    assert np.abs(joints(live) - up).max() < 1.0, "it stays in the last"
    live.give(m.Follow(()))
    assert not live.board.message().follows
    for keys, says in (
        (((0.0, *crouch),), "be above 0"),
        (((0.1, 1.0),), "6 angles"),
        (((0.2, *up), (0.1, *up)), "increase"),
    ):
        with pytest.raises(InputError, match=says):
            live.give(m.Follow(tuple(tuple(float(v) for v in row) for row in keys)))


def test_keys_replay_from_inputs_from_a_moment_and_as_a_scene(folder: TakeFolder) -> None:
    live = Live(lamp(), partial(Journal, path=folder.file("keys")))
    steps(live, 53)
    pose = joints(live) + [0, 0, -10, 18, 0, -8]
    live.give(m.Pin("foot", "turn"))
    live.give(m.Follow(((0.25, *pose.tolist()),)))
    waiting = live.moment()
    steps(live, 111)
    moment = live.moment()
    steps(live, 200)
    # as they go to the preview's process
    for kept in (waiting, pickle.loads(pickle.dumps(moment))):
        other = Live(lamp())
        other.restore(kept)
        steps(other, live.world.steps - other.world.steps)
        assert np.array_equal(other.world.full_state(), live.world.full_state())
    journal = live.run.recorder
    assert isinstance(journal, Journal)
    journal.close(True, "", {})
    past = Past(folder.known("keys"))
    again = Live(lamp())
    run_again(again, past.inputs(), live.world.steps)
    assert np.array_equal(again.world.full_state(), live.world.full_state())
    scene = assert_same(past, scene_text_of(past))
    assert scene.tasks["keys_1"].law == "track"


def test_a_session_keeps_keys_in_order_shows_the_doll_and_stops_for_it(session: Session, heard: Heard) -> None:
    session.open(lamp())
    session.handle(m.Step(50))
    assert session.live is not None
    goal = tuple((session.live.world.data.xpos[session.live.world.body("head")] + [0.0, 0.0, -0.05]).tolist())
    session.handle(m.KeyAdd(0.6))
    session.handle(m.Pose("head", (0.0, 0.0, 0.0), goal))
    session.handle(m.KeyAdd(0.3))
    pins = heard.texts("pins")[-1]
    assert [k[0] for k in pins["keys"]] == [0.3, 0.6]
    assert pins["posing"]
    assert np.abs(np.array(pins["keys"][0]) - pins["keys"][1])[1:].max() > 3.0
    session._send_frames()
    (frame,) = [m.unpack_frame(c) for k, c in heard.all if k == "pose" and isinstance(c, bytes)]
    assert frame.kind == m.POSE
    head = session.live.world.body("head")
    assert np.abs(frame.poses[head, :3] - goal).max() < 0.01
    session.handle(m.KeyDrop(1))
    session.handle(m.PoseEnd())
    assert [k[0] for k in heard.texts("pins")[-1]["keys"]] == [0.3]
    with pytest.raises(InputError, match="of 1 keys"):
        session.handle(m.KeyDrop(1))
    session.playing = True
    with pytest.raises(InputError, match="pause first"):
        session.handle(m.Pose("head", (0.0, 0.0, 0.0), goal))
    session.handle(m.Reset())
    assert len(session.keys) == 1, "keys are for the next try as well"
    session.open(starfish())
    assert session.keys == []

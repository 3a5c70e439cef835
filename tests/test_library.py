"""Worlds, measures, laws and runs without a scene file: names are resolved, wrong ones refused, and what is run is recorded."""

from collections.abc import Callable

import numpy as np
import pytest

import manikin as mk
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_text


@pytest.fixture(scope="module")
def world() -> mk.World:
    props = {"box": mk.PropShape("box", (0.3, 0.2, 0.2), 5.0, (0.6, 0.0, 0.1))}
    return mk.stage(mk.human(skin=False), props=props)


@pytest.fixture(scope="module")
def pair() -> mk.World:
    return mk.stage(mk.human(skin=False, prefix="a_"), mk.creature("lamp", prefix="b_", at=(0.0, 2.0, 0.0)))


def test_measures_are_those_of_the_model(world: mk.World) -> None:
    data, dynamics = world.data, world.dynamics()
    hand = mk.points(world, "hand_l").evaluate(dynamics).value
    assert np.array_equal(hand, data.site_xpos[world.site("hand_l")])
    up = mk.points(world, "box", offset=(0.0, 0.0, 0.1)).evaluate(dynamics).value
    assert up == pytest.approx(data.xpos[world.body("box")] + [0.0, 0.0, 0.1])
    both = mk.orientation(world, "head", "hand_r").evaluate(dynamics).value
    assert both == pytest.approx(np.concatenate([data.xquat[world.body(b)] for b in ("head", "hand_r")]))
    mine = [world.body(b) for b in world.characters[0].bodies]
    mass = world.model.body_mass[mine]
    com = mk.centre_of_mass(world, axes="xyz").evaluate(dynamics).value
    assert com == pytest.approx(mass @ data.xipos[mine] / mass.sum(), abs=1e-9)
    assert mk.momentum(world).bodies == mk.spin(world).bodies == tuple(mine)
    joints = world.characters[0].joints
    assert mk.posture(world).evaluate(dynamics).value == pytest.approx(
        [data.qpos[world.model.jnt_qposadr[world.joint(j)]] for j in joints]
    )
    assert len(mk.posture(world, "shank_l_flexion", "head_flexion").dofs) == 2
    axis = mk.direction(world, "thorax", (0.0, 0.0, 2.0)).evaluate(dynamics).value[:3]
    assert axis == pytest.approx(data.xmat[world.body("thorax")].reshape(3, 3)[:, 2])
    gaze = mk.look(world).evaluate(dynamics).value[:3]
    assert gaze[0] > 0.9
    goal = mk.on_body(world, "box", [[0.0, 0.1, 0.0], [0.0, -0.1, 0.0]]).at(world).value.reshape(2, 3)
    assert goal[0] - goal[1] == pytest.approx([0.0, 0.2, 0.0])


def test_a_scene_says_the_same_by_its_own_names(world: mk.World) -> None:
    tasks = '[tasks.hand]\nmeasure = "point"\nof = "hand_l"\n[tasks.com]\nmeasure = "com"\n'
    text = f'name = "t"\n[character]\nmodel = "human"\n{tasks}'
    run = build_run(parse_text(text, "t"), record=False)
    for task, measure in zip(run.tasks, (mk.points(run.world, "hand_l"), mk.centre_of_mass(run.world))):
        dynamics = run.world.dynamics()
        assert np.array_equal(task.measure.evaluate(dynamics).value, measure.evaluate(dynamics).value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda w: mk.points(w, "hnd_l"), "no site or body is called 'hnd_l'; did you mean 'hand_l'"),
        (lambda w: mk.points(w), "name one or more"),
        (lambda w: mk.orientation(w, "haed"), "did you mean 'head'"),
        (lambda w: mk.posture(w, "shank_l_flexon"), "no joint is called 'shank_l_flexon'; did you mean 'shank_l_flexion'"),
        (lambda w: mk.posture(w, "root"), "'root' is not a hinge"),
        (lambda w: mk.posture(w, ["shank_l_flexion"]), "names are given one by one"),
        (lambda w: mk.points(w, ["hand_l", "hand_r"]), "names are given one by one"),
        (lambda w: mk.centre_of_mass(w, axes="xq"), "axes: given 'xq'"),
        (lambda w: mk.centre_of_mass(w, axes=""), "axes: given ''"),
        (lambda w: mk.nearest(w, "stnd"), "no clip is called 'stnd'; did you mean 'stand'"),
        (lambda w: mk.on_body(w, "bx"), "did you mean 'box'"),
        (lambda w: mk.creature("lmap"), "no creature is called 'lmap'; did you mean 'lamp'"),
        (lambda w: mk.stage(mk.human(skin=False), mk.creature("lamp")), "need a prefix each"),
    ],
)  # fmt: skip
def test_wrong_names_are_refused(world: mk.World, wrong: Callable[[mk.World], object], message: str) -> None:
    with pytest.raises(mk.InputError, match=message.replace("(", r"\(")):
        wrong(world)


def test_with_several_characters_one_says_whose(pair: mk.World) -> None:
    human, lamp = pair.characters
    with pytest.raises(mk.InputError, match=r"choose one with character.*allowed: a, b"):
        mk.posture(pair)
    assert len(mk.posture(pair, character=lamp).dofs) == len(lamp.joints)
    assert mk.points(pair, "head", character=human).bodies[0] != mk.points(pair, "head", character=lamp).bodies[0]
    # full names need no more
    assert mk.points(pair, "b_head").bodies.tolist() == mk.points(pair, "head", character=lamp).bodies.tolist()
    own = mk.centre_of_mass(pair, character=lamp)
    assert own.masses.sum() == pytest.approx(pair.model.body_mass[[pair.body(b) for b in lamp.bodies]].sum())
    assert not own.carried.any(), "nobody carries the other character"
    with pytest.raises(mk.InputError, match="clips are for humans"):
        mk.nearest(pair, "stand", character=lamp)
    assert len(mk.skeletons(pair)) == 2


def test_humans_stand_where_they_are_and_keep_their_feet() -> None:
    crowd = mk.stage(mk.human(skin=False, prefix="a_"), mk.human(skin=False, prefix="b_", feet="contact"))
    apart = crowd.data.xpos[crowd.body("b_pelvis")] - crowd.data.xpos[crowd.body("a_pelvis")]
    assert apart == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
    assert len(crowd.dynamics().supports) == 1, "only who is not clamped stands by contact"
    assert crowd.branch().characters == crowd.characters
    assert crowd.timestep == 0.002
    assert mk.stage(mk.creature("lamp")).timestep == 0.001
    assert mk.stage(mk.creature("lamp"), timestep=0.0005).timestep == 0.0005


def reach(world: mk.World) -> mk.Run:
    hand = mk.Task("hand", mk.points(world, "hand_l"), mk.Stabilize(0.8), goal=mk.Fixed([0.55, 0.15, 1.55]))
    rest = mk.Task("posture", mk.posture(world), mk.nearest(world, "stand"), priority=2)
    return mk.Run(world, mk.Prioritized(), tasks=(hand, rest))


def test_a_run_of_ones_own_is_recorded_and_replays(tmp_path) -> None:
    work = reach(mk.stage(mk.human(skin=False), props={"box": mk.PropShape("box", (0.2, 0.2, 0.2), 2.0, (0.9, 0.5, 0.1))}))
    take = mk.run(work, seconds=0.5)
    assert take.report["ok"]
    assert take.report["seconds"] == pytest.approx(0.5)
    assert take.recording.meta["props"] == ["box"]
    assert set(take.recording.tasks) == {"hand", "posture"}
    assert work.tasks[0].error < 0.35
    mk.save(take, tmp_path / "reach.npz")
    assert mk.replay(mk.load_recording(tmp_path / "reach.npz")).difference <= 1e-9
    for name in ("reach.glb", "reach.csv", "reach.json"):
        mk.save(take, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    # it can go on
    longer = mk.run(work, seconds=0.2)
    assert longer.report["seconds"] == pytest.approx(0.7)


def test_a_run_that_cannot_be_recorded_is_refused() -> None:
    work = reach(mk.stage(mk.human(skin=False)))
    with pytest.raises(mk.InputError, match="seconds: given None"):
        mk.run(work)
    with pytest.raises(mk.InputError, match="seed: is for scenes"):
        mk.run(work, seconds=1.0, seed=3)
    work.advance(1)
    with pytest.raises(mk.InputError, match="only from its start"):
        mk.run(work, seconds=1.0)


def test_divergence_keeps_what_was_recorded() -> None:
    work = reach(mk.stage(mk.human(skin=False)))
    work.pullers = (_Blow(),)
    with pytest.raises(mk.RunError, match="diverged") as caught:
        mk.run(work, seconds=1.0)
    assert isinstance(caught.value, mk.Failed)
    assert len(caught.value.take.recording.time) > 2


class _Blow:
    """A force that no physics survives, after a while."""

    def push(self, world: mk.World) -> mk.Push | None:
        return mk.Push("head", np.full(3, 1e9)) if world.time > 0.1 else None

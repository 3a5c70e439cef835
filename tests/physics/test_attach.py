"""What supports and what obstructs a held prop, and how near a palm must be to grasp one."""

import numpy as np
import pytest

from manikin.bench import standing_world
from manikin.characters.human import human
from manikin.errors import OutOfReach
from manikin.physics.attach import GRASP_GAP, blocked, check_reach, feel_loads, grasp, hold_still, palm_gap, release
from manikin.physics.world import Control, World
from manikin.scenes.stage import PropShape, stage

SIZE = (0.2, 0.2, 0.2)
WEIGHT = 5.0 * 9.81


def carrying(**fixed: PropShape) -> World:
    """A human who stands still and holds a box of 5 kg that floats in front of the chest, among fixed things."""
    character = human(skin=False)
    world = World(stage("held", [character], {"box": PropShape("box", SIZE, 5.0, (0.5, 0.0, 1.0)), **fixed}))
    start = standing_world("clamped")
    world.data.qpos[:48] = start.data.qpos
    world.forward()
    for name in ("clamp_foot_l", "clamp_foot_r"):
        hold_still(world, name)
    for hand in character.hands:
        grasp(world, hand, "box", reach=np.inf)
    world.forward()
    return world


def board(x: float, z: float) -> PropShape:
    """A fixed board whose top or underside is flat."""
    return PropShape("box", (0.4, 0.4, 0.02), 1.0, (x, 0.0, z), fixed=True)


def settle(world: World, force: tuple[float, float, float], steps: int = 60) -> None:
    """Press the held box against what is there."""
    body = world.body("box")
    world.data.xfrc_applied[body, :3] = force
    for _ in range(steps):
        feel_loads(world)
        world.refresh()
        world.step(Control(np.zeros(world.model.nu)))
    feel_loads(world)


def felt(world: World) -> np.ndarray:
    first = int(world.model.body_dofadr[world.body("box")])
    return world.dynamics().external[first : first + 6].copy()


def test_support_from_below_is_felt_up_to_the_weight():
    world = carrying(table=board(0.5, 0.889))
    settle(world, (0.0, 0.0, -400.0))
    assert 0.0 < felt(world)[2] < WEIGHT
    # a new support is trusted only after a while
    for _ in range(1000):
        feel_loads(world)
    load = felt(world)
    assert load[2] == pytest.approx(WEIGHT, rel=0.02)
    assert load[2] <= WEIGHT + 1e-9
    assert not load[[0, 1, 3, 4, 5]].any()
    assert world.load[world.body("box")] == pytest.approx(0.0, abs=0.02)
    assert blocked(world) == []


def test_a_push_from_above_is_reported_and_not_answered():
    world = carrying(shelf=board(0.5, 1.111))
    settle(world, (0.0, 0.0, 400.0))
    assert not felt(world).any()
    assert world.load[world.body("box")] == 1.0
    assert blocked(world) == ["box is blocked by shelf"]
    (found,) = world.obstructions.values()
    assert found.force[2] < -100.0
    assert set(found.bodies) == {world.body(b) for b in ("box", "hand_l", "hand_r")}
    release(world, "hand_l")
    assert world.obstructions
    release(world, "hand_r")
    assert not world.obstructions


def test_what_no_longer_touches_is_soon_forgotten():
    world = carrying(shelf=board(0.5, 1.111))
    settle(world, (0.0, 0.0, 400.0))
    world.data.xfrc_applied[:] = 0.0
    first = int(world.model.body_dofadr[world.body("box")])
    world.data.qpos[world.model.jnt_qposadr[world.joint("box")] + 2] -= 0.05
    world.data.qvel[first : first + 6] = 0.0
    world.forward()
    for _ in range(150):
        feel_loads(world)
    assert blocked(world) == []
    assert not felt(world).any()


def test_a_branch_knows_what_blocks_and_forgets_on_its_own():
    world = carrying(shelf=board(0.5, 1.111))
    settle(world, (0.0, 0.0, 400.0))
    ahead = world.branch()
    assert blocked(ahead) == blocked(world)
    release(ahead, "hand_l")
    release(ahead, "hand_r")
    assert blocked(world) == ["box is blocked by shelf"]


@pytest.mark.parametrize("gap", [0.0, 0.029, 0.031, 0.052, 0.6])
def test_a_grasp_needs_the_palm_within_three_centimetres(gap):
    character = human(skin=False)
    world = World(stage("near", [character], {"box": PropShape("box", SIZE, 5.0, (0.5, 0.0, 1.0))}))
    world.data.qpos[:48] = standing_world("clamped").data.qpos
    world.forward()
    # the box next to the palm, which faces inwards
    place = world.data.site_xpos[world.site("hand_l")]
    side = world.model.jnt_qposadr[world.joint("box")]
    world.data.qpos[side : side + 3] = place - [0.0, SIZE[1] / 2, 0.0]
    world.forward()
    found, _ = palm_gap(world, "hand_l", "box", 10.0)
    world.data.qpos[side + 1] -= gap - found
    world.forward()
    assert palm_gap(world, "hand_l", "box", 10.0)[0] == pytest.approx(gap, abs=5e-3)
    if palm_gap(world, "hand_l", "box", 10.0)[0] <= GRASP_GAP:
        grasp(world, "hand_l", "box")
        assert world.held == {world.body("box")}
        return
    with pytest.raises(OutOfReach, match=r"^hand_l is \d+\.\d cm from box; a grasp needs 3 cm$"):
        check_reach(world, "hand_l", "box")
    with pytest.raises(OutOfReach):
        grasp(world, "hand_l", "box")
    assert not world.held
    assert not world.switched

"""Goals that stay until the next sample, points off a body, and priorities and settings that a step changes."""

import numpy as np
import pytest

from manikin.controllers.direct import Direct
from manikin.errors import SceneError
from manikin.scenes.build import build_run
from manikin.scenes.scene import Scene, parse_text
from manikin.tasks.goals import Held

LAMP = """
name = "held"
controller = "direct"
timestep = 0.001
[character]
model = "lamp"
[tasks.head]
measure = "point"
of = "head"
offset = [0.01, 0.0, 0.02]
priority = 1
active = false
[tasks.turn]
measure = "orientation"
of = "foot"
active = false
[tasks.bend]
measure = "posture"
of = ["upper_pitch"]
active = false
"""


def scene(steps: str) -> Scene:
    return parse_text(LAMP + steps, "held")


def test_each_value_stays_until_the_next() -> None:
    run = build_run(
        scene("""
[[steps]]
name = "drag"
when = { after = 0.0045 }
goals.head = { hold = [[0.0, 0.1, 0.0, 0.3], [0.002, 0.2, 0.0, 0.3], [0.005, 0.3, 0.0, 0.3]] }
goals.turn = { hold = [[0.0, 1.0, 0.0, 0.0, 0.0]] }
goals.bend = { hold = [[0.0, 1.5]] }
""")
    )
    head, turn, bend = run.tasks
    seen = []
    for _ in range(12):
        run.advance(1)
        if head.goal is not None:
            seen.append(float(head.goal.at(run.world).value[0]))
    assert isinstance(head.goal, Held)
    # the clock is one step later after each step
    assert seen == [0.1, 0.2, 0.2, 0.2, 0.3, 0.3, 0.3]
    assert turn.goal is not None
    assert turn.goal.at(run.world).value.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert bend.goal is not None
    assert bend.goal.at(run.world).value.tolist() == [1.5], "radians, as they are"
    assert head.active


def test_a_point_lies_off_its_body() -> None:
    run = build_run(scene(""))
    run.world.forward()
    data, body = run.world.data, run.world.body("head")
    place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ [0.01, 0.0, 0.02]
    assert np.allclose(run.tasks[0].measure.evaluate(run.world.dynamics()).value, place)


def test_a_step_changes_priorities_and_settings() -> None:
    run = build_run(
        scene("""
[[steps]]
name = "now"
tune.head = { priority = 4, frequency = 2.5 }
contact_joints = false
compliant = false
""")
    )
    run.advance(1)
    assert run.tasks[0].priority == 4
    assert isinstance(run.controller, Direct)
    assert (run.controller.contact_joints, run.controller.compliant, run.controller.formulation) == (
        False,
        False,
        "acceleration",
    )


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ('[[steps]]\nname = "a"\ngoals.head = { hold = [[0.0, 1.0]] }', "3 numbers"),
        ('[[steps]]\nname = "a"\ngoals.turn = { hold = [[0.0, 1.0, 0.0, 0.0]] }', "4 numbers"),
        ('[[steps]]\nname = "a"\ngoals.bend = { hold = [[0.1, 1.0], [0.1, 2.0]] }', "times increasing"),
        ('[[steps]]\nname = "a"\ngoals.bend = { hold = [[0.0, 1.0]], at = [3.0] }', "exactly one"),
        ('[[steps]]\nname = "a"\ngoals.head = { hold = [[0.0, 1.0, 1.0, 1.0]], relative = true }', "relative goes with"),
        ('[tasks.more]\nmeasure = "com"\noffset = [0.0, 0.0, 0.1]', "offset is for measure 'point'"),
        ('[tasks.more]\nmeasure = "point"\nof = ["head", "foot"]\noffset = [0.0, 0.0, 0.1]', "offset is for measure 'point'"),
    ],
)
def test_what_does_not_fit_is_refused(steps: str, says: str) -> None:
    with pytest.raises(SceneError, match=says):
        build_run(scene(steps))


def test_settings_of_direct_control_are_not_for_humans() -> None:
    text = 'name = "x"\n[character]\n[[steps]]\nname = "a"\ncompliant = true\n'
    with pytest.raises(SceneError, match="is for controller = 'direct'"):
        build_run(parse_text(text, "x"))

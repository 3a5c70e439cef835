"""Scenes that nobody tuned: whatever the task, nobody is flung about. The whole campaign: python tools/untuned_scenes.py."""

import pytest

import manikin as mk
from manikin.scenes.scene import parse_scene
from manikin.untuned import JOINT_SPEED, PROP_SPEED, Outcome, try_scene, untuned_scene

# of these, all but number 14 were violent before held props were felt as support only
SUBSET = (2, 4, 6, 12, 14, 16)


@pytest.mark.parametrize("number", SUBSET)
def test_nobody_is_flung(number: int) -> None:
    outcome = try_scene(untuned_scene(number))
    assert outcome.kind in ("done", "refused"), outcome
    assert outcome.joint_speed <= JOINT_SPEED
    assert outcome.prop_speed <= PROP_SPEED
    assert (outcome.kind == "refused") == bool(outcome.reason)


def test_what_blocks_a_prop_is_in_the_reason() -> None:
    assert "crate is blocked by shelf" in try_scene(untuned_scene(4)).reason


def test_the_same_number_is_the_same_scene() -> None:
    assert untuned_scene(3) == untuned_scene(3)
    assert untuned_scene(3) != untuned_scene(5)


def test_violence_is_seen() -> None:
    """The criterion is no formality: a crate that flies past is violent."""
    table = untuned_scene(2)
    table["props"]["crate"]["velocity"] = [0.0, 0.0, 4.0]
    outcome = try_scene(table)
    assert isinstance(outcome, Outcome)
    assert outcome.kind == "violent"


def test_a_grasp_from_afar_is_refused_and_said() -> None:
    """The script says which hand is how far from what, and the job is not done."""
    table = untuned_scene(16)
    touch = next(s for s in table["steps"] if s["name"] == "touch")
    touch["goals"] = {"hands": table["steps"][0]["goals"]["hands"]}
    take = mk.run(parse_scene(table, "afar"))
    assert not take.report["ok"]
    assert "a grasp needs 3 cm" in take.report["reason"]
    assert "step 'lift': hand_" in take.report["reason"]

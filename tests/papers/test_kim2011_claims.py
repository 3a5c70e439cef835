"""Kim & Pollard 2011: every claim is measured in its quick form, and is what the documentation says; measurements can fail."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manikin.drags import against_printed
from manikin.papers import kim2011 as document
from manikin.papers.claims import Lab
from manikin.papers.kim2011 import bodies, drags, faster, formulations, keyframes, rates, star
from manikin.papers.kim2011.faster import Jump
from manikin.papers.kim2011.formulations import Effort

CLAIMS = {c.id: c for c in document.CLAIMS}
# what does not hold, as docs/kim2011.md says
FALSE = {
    "lamp.balance", "lamp.higher", "lamp.least_torque", "lamp.least_torque_slowed", "lamp.spot_anywhere",
    "starfish.escape_glass", "keyframes.follow", "soft.stops", "drags.printed", "drags.stops", "drags.torque", "rates.scenes",
}  # fmt: skip
USERS = {name for name in CLAIMS if name.startswith("users.")}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_it_is_as_documented(kim2011: Lab, name: str) -> None:
    found = CLAIMS[name].measure(kim2011)
    if name in USERS:
        assert found.holds is None
        assert "no person was timed" in found.reason
        assert found.numbers["script_ok"]
    else:
        assert found.holds is (name not in FALSE), found
        assert found.ours is not None


def test_every_claim_says_who_set_its_bound_and_what_was_changed() -> None:
    for claim in CLAIMS.values():
        assert claim.bound in ("document", "ours")
        assert claim.bound == "ours" or claim.document, claim.id
        for change in claim.changed:
            assert change.before
            assert change.after
            assert change.why
    changed = {name for name, claim in CLAIMS.items() if claim.changed}
    assert changed >= {"starfish.escape", "drags.smooth", "soft.limits", "lamp.least_torque", "lamp.spot", "fish.singular"}


def test_the_documentation_has_a_place_for_the_table_and_names_what_does_not_hold() -> None:
    text = (Path(__file__).parents[2] / "docs" / "kim2011.md").read_text(encoding="utf-8")
    begin, end = text.index("<!-- claims -->"), text.index("<!-- end of claims -->")
    assert begin < end
    for name in FALSE:
        assert f"`{name}`" in text[:begin] + text[end:], name


# --- measurements that can fail


def test_least_torque_compares_equals() -> None:
    def one(torque: float) -> dict[str, Effort]:
        return {f: Effort(t, 0.1, True) for f, t in (("acceleration", 1.0), ("velocity", 1.1), ("torque", torque))}

    assert formulations.judge_torque([one(0.9), one(0.99)]).holds
    found = formulations.judge_torque([one(0.5), one(1.01)])
    assert not found.holds
    assert found.ours == pytest.approx(-1.0)
    assert found.numbers["lowest_in"] == 1


def test_a_quicker_drag_that_jumps_lower_does_not_hold() -> None:
    jumps = [Jump(1.0, 0.1, 0.1), Jump(2.0, 0.2, 0.15), Jump(3.0, 0.3, 0.2)]
    assert faster.judge(jumps, True).holds
    assert not faster.judge([*jumps[:2], jumps[2]._replace(height=0.19)], True).holds
    shorter = [*jumps[:2], jumps[2]._replace(far=0.1)]
    assert not faster.judge(shorter, True).holds
    assert faster.judge(shorter, False).holds
    assert not faster.judge([*jumps[:2], jumps[2]._replace(height=np.nan)], False).holds


def test_one_rate_that_fails_is_seen() -> None:
    trials = [("lamp", 50.0), ("lamp", 1000.0)]
    assert rates.judge_map(trials, ["ok", "ok"]).holds
    found = rates.judge_map(trials, ["ok", "not past 'fly'"])
    assert not found.holds
    assert found.numbers["map"]["lamp"]["1000 Hz"] == "not past 'fly'"


def test_a_scene_that_cannot_succeed_is_not_ok() -> None:
    assert rates.ends("lamp", {"character.strength": 0.1}) != "ok"


def test_changed_surroundings_that_break_a_run_do_not_hold() -> None:
    assert rates.judge_changed({"a": "ok", "b": "ok"}).holds
    assert not rates.judge_changed({"a": "ok", "b": "ok", "c": "broke: it diverged"}).holds
    assert not rates.judge_changed({"a": "ok", "b": "ok", "c": "not past 'fly'"}).holds


def test_equation_9_as_printed_is_applied_near_the_limit_and_towards_it_only() -> None:
    low, high, u = np.full(4, -1.0), np.full(4, 1.0), np.zeros(4)
    q = np.array([0.95, 0.5, 0.95, -0.95])
    v = np.array([2.0, 2.0, -2.0, -2.0])
    broken, applies, excess = against_printed(q, v, low, high, u)
    assert (broken, applies) == (2, 2)
    assert excess == pytest.approx(4.0 / (2 * 0.05 + 2e-3))
    braked = np.array([-excess - 1e-9, 0.0, 0.0, excess + 1e-9])
    assert against_printed(q, v, low, high, braked)[:2] == (0, 2)


def test_a_ring_that_slides_or_spins_does_not_roll(kim2011: Lab) -> None:
    times = bodies.began(kim2011, "donut")
    recording = kim2011.take("donut").recording
    good = star.judge_roll(recording, times["roll"], times["rolled_1_m"])
    assert good.holds, good
    sliding = recording.qpos.copy()
    sliding[:, 2] *= 0.5
    assert not star.judge_roll(replace(recording, qpos=sliding), times["roll"], times["rolled_1_m"]).holds


def test_a_dragged_link_reaches_its_place_and_the_root_stays(kim2011: Lab) -> None:
    miss, moved = keyframes.pose(kim2011.once(("still", "fish", 200.0), lambda: keyframes.at_rest("fish")), "head", 1)
    assert miss < keyframes.POSED
    assert moved < keyframes.POSED


@pytest.mark.parametrize(
    ("claim", "numbers", "holds"),
    [
        ("drags.stops", {"beyond_kept_rad": 2e-3}, False),
        ("drags.stops", {"beyond_kept_rad": 5e-4}, True),
        ("drags.printed", {"printed_broken_share": 1e-3}, False),
        ("drags.torque", {"torque_of_limit": 1.01}, False),
        ("drags.torque", {"torque_of_limit": 1.0}, True),
    ],
)
def test_claims_about_drags_can_fail(
    claim: str, numbers: dict[str, float], holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drags, "_all", lambda lab: {"lamp": numbers})
    assert CLAIMS[claim].measure(Lab(quick=True)).holds is holds

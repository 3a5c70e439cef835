"""Kim & Pollard 2011: the worm and the fish do what the document shows, by physics alone; and measurements can fail."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from manikin.papers.claims import Finding, Lab
from manikin.papers.kim2011 import bodies, crawl
from manikin.papers.kim2011.watch import watch
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene

MEASURES = {c.id: c.measure for c in crawl.CLAIMS}


@pytest.fixture
def lab(kim2011: Lab) -> Lab:
    return kim2011


def test_flesh_does_not_turn_the_fish_in_the_air(lab: Lab) -> None:
    """Integrated implicitly, flesh under tension drags on what rotates: 4.5 % of the sum of its parts was lost."""
    found = MEASURES["fish.flight"](lab)
    assert found.ours is not None
    assert found.ours < 0.5
    assert found.numbers["off_g_percent"] < 0.1
    assert found.numbers["spin_drift_of_mass_speed_length_percent"] < 0.2


@pytest.mark.parametrize("measure", [bodies.flesh, bodies.surface, bodies.limits, bodies.internal])
def test_flesh_surface_joints_and_root(lab: Lab, measure: Callable[[Lab, Sequence[str]], Finding]) -> None:
    found = measure(lab, crawl.SCENES)
    assert found.holds, found


def test_both_scenes_succeed_by_their_own_conditions(lab: Lab) -> None:
    for scene in crawl.SCENES:
        report = lab.take(scene).report
        assert report["ok"], report["reason"]


def test_the_fish_is_pinned_dragged_and_then_follows_key_poses(lab: Lab) -> None:
    """As in Figure 2: the order of the script, and who is on."""
    recording = lab.take("fish").recording
    names = [e["name"] for e in recording.meta["events"]]
    assert names == ["lie", "bend", "stretch", "fly", "clear", "land", "arch", "slap", "over", "stretch_out", "rest"]
    bend = recording.time < bodies.began(lab, "fish")["stretch"] - 0.02
    assert recording.tasks["tail"]["active"][bend].all()
    assert not recording.tasks["pose"]["active"][bend].any()
    assert recording.tasks["pose"]["active"][~bend].any()
    # the pin comes before the drag
    scene = load_scene("fish")
    assert scene.tasks["tail"].priority < scene.tasks["nose"].priority


# --- the measures can fail


def test_a_worm_that_nobody_drags_stays() -> None:
    run = build_run(load_scene("worm", {f"steps.wave_{k}.goals": {} for k in range(1, 13)}))
    run.advance(1250)
    assert run.recorder is not None
    seen = watch(run.recorder.finish())
    assert not crawl.judge_crawl(seen).holds
    assert not crawl.judge_steps(seen).holds
    assert np.abs(seen.middle[-1, 0] - seen.middle[0, 0]) < 0.01


def test_what_is_wrong_is_noticed(lab: Lab) -> None:
    fish = bodies.seen(lab, "fish")
    assert not crawl.judge_turn(replace(fish, tilt=fish.tilt - 40)).holds
    assert not crawl.judge_jump(fish, 0.42, 1.6).holds
    assert not bodies.judge_flight(replace(fish, centre=fish.centre * [1, 1, 1.05])).holds
    assert not bodies.judge_flight(replace(fish, spin=fish.spin + np.outer(fish.time, [0.0, 0.1, 0.0]))).holds
    assert not bodies.judge_flight(replace(fish, touching=np.ones_like(fish.touching))).holds
    assert not bodies.judge_limits(replace(fish, beyond=fish.beyond + 0.07)).holds
    assert not bodies.judge_limits(replace(fish, beyond=np.full_like(fish.beyond, 0.002))).holds


def test_without_damping_the_straight_fish_is_asked_for_more() -> None:
    """Eq. 12: the smaller alpha is, the larger are commands near the singular pose."""
    damped, hardly = (crawl.judge_singular(np.random.default_rng(2), 30, damping) for damping in (0.02, 0.0002))
    assert damped.holds
    assert hardly.numbers["ours_rad_s2"] > 2 * damped.numbers["ours_rad_s2"]
    assert not crawl.judge_singular(np.random.default_rng(2), 30, broke=1).holds

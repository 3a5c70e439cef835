"""Campaigns of random drags on all cores."""

import numpy as np

from manikin import bench_direct
from manikin.bench_direct import drag_campaign
from manikin.drags import CHARACTERS, at_rest, perform, random_drags


def test_parts_of_a_campaign_are_the_drags_of_the_whole():
    still = at_rest("lamp")
    *_, last = random_drags(still, 3, 7)
    model, some = bench_direct._perform_part("lamp", 7, 2, 3)
    assert model == "lamp"
    assert some == {2: perform(still, last)}


def test_an_interrupted_campaign_reports_what_was_finished():
    shares = []

    def interrupt(share: float) -> None:
        shares.append(share)
        raise KeyboardInterrupt

    figures = drag_campaign(1, progress=interrupt)
    assert shares == [1 / len(CHARACTERS)]
    (drags,) = (key for key in figures if key.endswith("_drags"))
    assert figures[drags] == 1
    assert all(np.isfinite(value) for value in figures.values())
    assert figures[drags.replace("_drags", "_worst_drag")] == 0

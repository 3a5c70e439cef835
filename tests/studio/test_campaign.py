"""A short campaign of random dragging and pushing, and the bench's own figures: all there, none of them a time to assert."""

import math
from functools import partial

import pytest

from manikin.bench import run_bench
from manikin.errors import InputError
from manikin.scenes.scene import shipped
from manikin.studio import measure
from manikin.studio.campaign import campaign


@pytest.mark.parametrize("scene", list(shipped()))
def test_wherever_it_is_pulled_it_lives_on(scene: str) -> None:
    figures = campaign(6.0, 0.0, [scene])
    assert figures[f"campaign.{scene}.unreported"] == 0
    assert figures[f"campaign.{scene}.not_recovered"] == 0
    assert figures[f"campaign.{scene}.memory_growth_mb"] < 50


def test_paced_with_two_pages() -> None:
    figures = campaign(0.0, 5.0, ["lift"])
    assert figures["campaign.paced.still_diverged"] == 0
    assert figures["campaign.paced.memory_growth_mb"] < 50
    assert figures["campaign.paced.frames_per_second"] > 0
    assert figures["campaign.paced.longest_silence_s"] < 5


def test_the_bench_reports_all_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "bench_studio", partial(measure.bench_studio, 0.5))
    figures = run_bench("studio")
    for key in ("event_to_physics_ms", "frames_per_second", "server_share_of_core", "pace_8_clients_over_1", "pace_preview_over_none"):  # fmt: skip # noqa: E501
        assert math.isfinite(figures[f"studio.{key}"])
    with pytest.raises(InputError, match="has no campaign"):
        run_bench("nearest", long=True)

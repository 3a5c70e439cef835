"""Films that several processes draw: the same frames in the same order, and nothing is left behind."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import manikin as mk
from manikin.errors import OutputError
from manikin.export import film
from manikin.recording import Recording

pytestmark = pytest.mark.draws
SMALL = film.Film(30.0, 64, 48)


@pytest.fixture(scope="module")
def hop() -> Recording:
    return mk.run(mk.load_scene("lamp")).recording


def test_several_draw_what_one_draws(hop: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    # two seconds: 0, 1/30, ... s
    assert len(SMALL.moments(hop)) == int(hop.time[-1] * 30) + 1 >= film.ALONE
    alone = list(film.draw(hop, SMALL))
    assert np.ptp([a.mean() for a in alone]) > 0.5
    for processors in (2, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=processors: set(range(n)), raising=False)
        together = list(film.frames(hop, SMALL))
        assert len(together) == len(alone)
        assert all(np.array_equal(a, b) for a, b in zip(alone, together))


def test_a_film_that_is_broken_off_leaves_nobody_behind(
    hop: Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def note(*words: object, **more: object) -> "subprocess.Popen[bytes]":
        started.append(start(*words, **more))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", note)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    shown = film.frames(hop, SMALL)
    next(shown)
    assert [p.poll() for p in started] == [None, None]
    shown.close()  # type: ignore[attr-defined]
    assert all(p.returncode is not None for p in started)
    assert not list(tmp_path.iterdir())


def test_a_process_that_cannot_draw_says_why(hop: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    with pytest.raises(OutputError, match=r"could not be drawn: .*MUJOCO_GL"):
        list(film.frames(hop, SMALL))


def test_one_processor_draws_alone(hop: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(sys, "executable", "there is no such program")
    assert next(film.frames(hop, SMALL)).shape == (48, 64, 3)

"""`manikin reproduce`: claims are complete, judged by what was seen, and can fail; a run may stop or break halfway."""

import dataclasses
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import manikin as mk
from manikin.errors import Diverged, OutputError
from manikin.papers import DOCUMENTS, abe2006
from manikin.papers.abe2006 import chain, lift, pendulum
from manikin.papers.claims import Claim, Finding, Lab, plain, unmeasured
from manikin.papers.reproduce import as_table, measure_all
from manikin.scenes.scene import load_scene

Command = Callable[..., tuple[int, str, str]]

# not the seed of the campaigns
SEED = 7
FIELDS = {
    "id",
    "claim",
    "source",
    "document",
    "ours",
    "unit",
    "holds",
    "how",
    "reason",
    "numbers",
    "seconds",
    "version",
    "seed",
}


# --- the list


@pytest.mark.parametrize("name", DOCUMENTS)
def test_claims_are_stated_once_each_with_place_and_way(name: str) -> None:
    claims = import_module(DOCUMENTS[name]).CLAIMS
    assert len({c.id for c in claims}) == len(claims)
    assert len({c.claim for c in claims}) == len(claims)
    for c in claims:
        assert c.claim
        assert c.how
        assert c.source.startswith(("section", "figure"))


def test_every_paragraph_and_caption_has_claims() -> None:
    sources = " ".join(c.source for c in abe2006.CLAIMS)
    for part in ("Chain Interaction", "Lift", "Box Interaction", "Catch", "Catch and Toss", "section 6"):
        assert part in sources
    for figure in range(1, 5):
        assert f"figure {figure}" in sources


def test_the_seed_of_the_campaigns_is_used_nowhere_else() -> None:
    here = Path(__file__).parents[1]
    assert abe2006.SEED != SEED
    assert not [f for f in here.rglob("*.py") if str(abe2006.SEED) in f.read_text(encoding="utf-8")]


# --- measuring and keeping


def claim(name: str, measure: Callable[[Lab], Finding]) -> Claim:
    return Claim(name, f"{name} is so", "section 5", "", "m", "look", measure)


def holds(lab: Lab) -> Finding:
    return Finding(1.0, True, {"seen": np.arange(3), "most": np.float64(np.inf)})


def breaks(lab: Lab) -> Finding:
    raise Diverged(0.5, "hand_r", "speed 1e9")


def stops(lab: Lab) -> Finding:
    raise KeyboardInterrupt


def stops_in_a_kernel(lab: Lab) -> Finding:
    raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


def fails(lab: Lab) -> Finding:
    return Finding(2.0, False)


def test_all_claims_are_written_measured_or_explained(tmp_path: Path) -> None:
    claims = [claim("one", holds), claim("two", breaks), claim("three", fails), claim("four", lambda lab: {}["top"])]
    shares: list[float] = []
    outcome = measure_all(claims, Lab(True, SEED), "manikin reproduce x", out=tmp_path, progress=shares.append)
    rows = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert rows == outcome.rows
    assert [r["holds"] for r in rows] == [True, None, False, None]
    assert all(set(r) >= FIELDS for r in rows)
    assert rows[0]["numbers"] == {"seen": [0, 1, 2], "most": None}
    assert "diverged at 0.500 s: body 'hand_r'" in rows[1]["reason"]
    assert "'top'" in rows[3]["reason"]
    assert [b.split(":")[0] for b in outcome.broken] == ["two", "four"]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    table = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert table == as_table(rows)
    assert table.count("\n") == 2 + len(rows)
    assert "**no**" in table


@pytest.mark.parametrize("press", [stops, stops_in_a_kernel])
def test_an_interrupt_keeps_what_was_finished(tmp_path: Path, press: Callable[[Lab], Finding]) -> None:
    claims = [claim("one", holds), claim("two", press), claim("three", holds)]
    try:
        outcome = measure_all(claims, Lab(True, SEED), "x", out=tmp_path)
    except KeyboardInterrupt:
        pytest.fail("the interrupt came through")
    assert outcome.interrupted
    rows = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert [r["holds"] for r in rows] == [True, None, None]
    assert [r["reason"] for r in rows[1:]] == ["interrupted before it was measured"] * 2


def test_a_take_of_each_scene_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lift: mk.Take) -> None:
    def take(lab: Lab, scene: str) -> mk.Take:
        if scene == "toss":
            raise Diverged(0.5, "hand_r", "speed 1e9")
        return lift

    monkeypatch.setattr(Lab, "take", take)
    monkeypatch.setattr("manikin.export.render.check_drawing", no_pictures)
    outcome = measure_all([claim("one", holds)], Lab(True, SEED), "x", ("lift", "toss"), tmp_path)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["claims.json", "claims.md", "lift.glb", "lift.npz"]
    assert sorted(outcome.files) == sorted(tmp_path.iterdir())
    assert outcome.broken[0].startswith("toss: ")


def no_pictures() -> None:
    raise OutputError("no picture can be drawn here")


def test_another_system_error_is_no_interrupt() -> None:
    def odd(lab: Lab) -> Finding:
        raise SystemError("something else")

    with pytest.raises(SystemError, match="something else"):
        measure_all([claim("one", odd)], Lab(True, SEED), "x")


def test_half_a_take_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(scene: mk.Scene, **_: object) -> object:
        return mk.Take(None, {"reason": "interrupted at 0.5 s"})  # type: ignore[arg-type]

    monkeypatch.setattr("manikin.papers.claims.run", interrupted)
    try:
        Lab().take("lift")
    except KeyboardInterrupt:
        return
    pytest.fail("an interrupted take was measured")


def test_numbers_become_those_of_json() -> None:
    odd = {"a": np.float32(1.5), "b": [np.int64(3), np.nan], "c": np.bool_(True), "d": (1.23456789,), 5: None}
    assert plain(odd) == {"a": 1.5, "b": [3, None], "c": True, "d": [1.23457], "5": None}


# --- the command


def small(monkeypatch: pytest.MonkeyPatch, *claims: Claim) -> None:
    monkeypatch.setattr(abe2006, "CLAIMS", claims)
    monkeypatch.setattr(abe2006, "SCENES", ())


def test_the_command_prints_and_keeps_the_claims(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, claim("one", holds), claim("two", fails), claim("three", lambda lab: unmeasured("for the eye")))
    code, out, err = command("reproduce", "abe2006", "--quick", "--out", "kept", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out.splitlines()[-1])
    assert rows == json.loads((tmp_path / "kept" / "claims.json").read_text(encoding="utf-8"))
    assert "1 hold, 1 do not, 1 were not measured" in out
    assert rows[0]["command"].startswith("manikin reproduce abe2006 --quick")
    assert (rows[0]["version"], rows[0]["seed"], rows[0]["quick"]) == (mk.__version__, abe2006.SEED, True)


def test_a_run_that_breaks_is_exit_1_and_the_rest_is_there(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, claim("one", breaks), claim("two", holds))
    code, out, err = command("reproduce", "abe2006", "--json")
    assert code == 1
    assert err.count("\n") == 1
    assert "one" in err
    assert [r["holds"] for r in json.loads(out.splitlines()[-1])] == [None, True]


def test_an_interrupted_command_says_so(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, claim("one", holds), claim("two", stops))
    code, out, err = command("reproduce", "abe2006")
    assert code == 0
    assert "interrupted" in err
    assert "1 hold, 0 do not, 1 were not measured" in out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["abe2007"], ["'abe2007'", "did you mean 'abe2006'?", "allowed: abe2006"]),
        ([], ["document"]),
        (["abe2006", "--out", "a.txt"], ["a.txt", "not a folder"]),
        (["abe2006", "--out", "no/where"], ["no/where", "'no' does not exist"]),
    ],
)
def test_bad_input_is_one_line(command: Command, tmp_path: Path, words: list[str], parts: list[str]) -> None:
    (tmp_path / "a.txt").write_text("words")
    code, out, err = command("reproduce", *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for part in parts:
        assert part.lower() in err.lower()
    assert [f.name for f in tmp_path.iterdir()] == ["a.txt"]


def test_help_mentions_it(command: Command) -> None:
    assert "reproduce" in command("--help")[1]


# --- measurements that can fail


@pytest.fixture(scope="module")
def back() -> mk.Take:
    return mk.run(load_scene("lift", {"character.clip": "lift_back"}), seconds=4.5)


def doctored(take: mk.Take, **changes: object) -> mk.Take:
    return take._replace(recording=dataclasses.replace(take.recording, **changes))  # type: ignore[arg-type]


def test_a_shifted_box_path_does_not_hold(back: mk.Take) -> None:
    qpos = back.recording.qpos.copy()
    qpos[:, -7] += 0.03
    assert lift.judge_paths(back, back).holds
    assert lift.judge_paths(back, doctored(back, qpos=qpos)).holds is False


def test_one_style_twice_is_not_two_styles(back: mk.Take, lift: mk.Take) -> None:
    from manikin.papers.abe2006.lift import judge_styles

    assert judge_styles(back, back).holds is False
    assert judge_styles(back, lift).holds


def test_lifts_that_take_the_same_time_are_not_slower(back: mk.Take) -> None:
    assert lift.judge_times((2.0, 80.0), [back, back]).holds is False


def test_a_body_that_does_not_crouch_does_not_hold() -> None:
    # down and up again, and nothing else of the pendulum's script
    changes = {"steps.draw.goals.hand.path": [[0.0, 0.42, -0.25, 1.6], [0.2, 0.42, -0.25, 1.6], [2.0, 0.44, -0.25, 0.5], [2.6, 0.44, -0.25, 0.5], [4.4, 0.42, -0.25, 1.6]]}  # fmt: skip # noqa: E501
    recording = mk.run(load_scene("pendulum", changes), seconds=6.5).recording
    assert pendulum.judge_crouch(recording).holds
    stiff = recording.qpos.copy()
    stiff[:, 2] = stiff[0, 2]
    assert pendulum.judge_crouch(dataclasses.replace(recording, qpos=stiff)).holds is False
    assert pendulum.judge_dynamics(recording, recording).holds is False


def test_hands_that_stay_away_or_a_gain_without_effect_do_not_hold() -> None:
    recording = mk.run(load_scene("chain"), seconds=6.0).recording
    assert chain.judge_steady(recording).holds
    hands = recording.tasks["hands"]
    away = recording.tasks | {"hands": hands | {"error": hands["error"] + 0.02}}
    assert chain.judge_steady(dataclasses.replace(recording, tasks=away)).holds is False
    assert chain.judge_gain((1, 2, 3), (0.3, 0.2, 0.1)).holds
    assert chain.judge_gain((1, 2, 3), (0.3, 0.3, 0.1)).holds is False

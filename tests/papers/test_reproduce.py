"""`manikin reproduce`: claims are complete, say whose bound decides, and can fail; a run may stop or break halfway."""

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import manikin as mk
from manikin.errors import Diverged, OutputError
from manikin.papers import DOCUMENTS, abe2006
from manikin.papers.abe2006 import lift
from manikin.papers.claims import Change, Claim, Finding, Lab, plain, unmeasured
from manikin.papers.reproduce import as_table, counts, measure_all
from manikin.scenes.scene import load_scene

Command = Callable[..., tuple[int, str, str]]

# not the seed of the campaigns
SEED = 7
# beside the checkout, where they are at hand
PAPERS = Path(__file__).parents[2].parent / "shared" / "papers"
TEXTS = {"abe2006": "abe2006_dynamic_manipulation.txt", "kim2011": "kim2011_direct_control.txt"}
# what stands in `document` where the statement is ours
NOT_SAID = "not said"
FIELDS = {
    "id",
    "claim",
    "source",
    "document",
    "ours",
    "unit",
    "holds",
    "how",
    "bound",
    "changed",
    "reason",
    "numbers",
    "seconds",
    "version",
    "sources",
    "seed",
}


# --- the list


@pytest.mark.parametrize("name", DOCUMENTS)
def test_claims_are_stated_once_each_with_source_and_method(name: str) -> None:
    claims = import_module(DOCUMENTS[name]).CLAIMS
    assert len({c.id for c in claims}) == len(claims)
    assert len({c.claim for c in claims}) == len(claims)
    for c in claims:
        assert c.claim
        assert c.how
        assert c.source.startswith(("section", "figure"))


def check_bound(c: Claim) -> None:
    """Who set the criterion; the document is quoted, or says nothing of it; what was replaced says from, to and why."""
    assert c.bound in ("document", "ours"), c.id
    # a number, or words
    assert re.search(r"\d|[A-Za-z]{3}", c.document), f"{c.id}: the document is not quoted"
    assert c.document != NOT_SAID or c.bound == "ours", f"{c.id}: the document decides what it does not say"
    for change in c.changed:
        assert all(len(text.split()) > 1 for text in (change.before, change.after, change.why)), c.id
        assert change.before != change.after, c.id


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_bound_says_whose_it_is(name: str) -> None:
    for c in import_module(DOCUMENTS[name]).CLAIMS:
        check_bound(c)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bound": "document", "document": ""},
        {"bound": "ours", "document": ""},
        {"bound": "document", "document": NOT_SAID},
        {"bound": "document", "document": "-"},
        {"bound": "theirs"},
        {"changed": (Change("below 2", "below 2", "it had failed"),)},
        {"changed": (Change("below 2", "below 4", ""),)},
    ],
)
def test_a_bound_that_is_nobodys_is_found(wrong: dict[str, Any]) -> None:
    sound = Claim("one", "one is so", "section 5", "60", "m", "look", holds, bound="document")
    check_bound(sound)
    with pytest.raises(AssertionError):
        check_bound(dataclasses.replace(sound, **wrong))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_quotations_are_in_the_document(name: str) -> None:
    """Where the document is at hand: the words and numbers that claims quote are there."""
    paper = PAPERS / TEXTS[name]
    if not paper.is_file():
        pytest.skip("the document is not at hand")
    text = plain_words(paper.read_text(encoding="utf-8"))
    for c in import_module(DOCUMENTS[name]).CLAIMS:
        assert c.document == NOT_SAID or quoted(c.document, text), f"{c.id}: '{c.document}'"


def plain_words(text: str) -> str:
    """The words alone, one space apart; words broken at the end of a line are whole, and `~` is no word."""
    whole = re.sub(r"(?<=[a-z])-\s*\n\s*(?=[a-z])", "", text.replace(r"$\sim$", "~"))
    return " ".join(re.findall(r"[a-z0-9]+", whole.lower()))


def quoted(words: str, text: str) -> bool:
    """Whole words, one after the other; `...` stands for up to 300 characters."""
    parts = [plain_words(part) for part in words.split("...")]
    return all(parts) and re.search(r"\b" + r"\b.{1,300}?\b".join(parts) + r"\b", text) is not None


@pytest.mark.parametrize(
    ("words", "there"),
    [
        ("benefits from motions", True),
        ("Real-time ~ motion", True),
        ("benefits ... motions", True),
        ("motions ... benefits", False),
        ("benefits of motions", False),
        ("fits from", False),
        ("...", False),
    ],
)
def test_a_quotation_that_is_not_verbatim_is_found(words: str, there: bool) -> None:
    assert quoted(words, plain_words("it bene-\n\nfits  from\nmotions; real-time $\\sim$ motion")) is there


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
    assert "not measured: a run failed: the simulation diverged" in table


def test_the_table_shows_whose_bounds_they_are_and_what_was_replaced() -> None:
    moved = Change("below 2 degrees", "below 4 degrees", "3.4 degrees were seen")
    claims = [
        claim("one", holds),
        dataclasses.replace(claim("two", fails), bound="document", document="a | b"),
        dataclasses.replace(claim("three", holds), changed=(moved,)),
    ]
    rows = measure_all(claims, Lab(True, SEED), "manikin reproduce x").rows
    assert rows[2]["changed"] == [{"from": moved.before, "to": moved.after, "why": moved.why}]
    lines = as_table(rows).splitlines()
    assert [line.split(" | ")[5] for line in lines[2:5]] == ["ours", "document", "ours, changed"]
    assert "a / b" in lines[3]
    assert lines[-1] == "| `three` | below 2 degrees | below 4 degrees | 3.4 degrees were seen |"
    assert counts(rows) == "2 hold, 1 do not, 0 were not measured"


# --- tables in the docs

ROOT = Path(__file__).parents[2]


def make_table(*words: object) -> subprocess.CompletedProcess[str]:
    tool = ROOT / "tools" / "make_claims_table.py"
    return subprocess.run([sys.executable, str(tool), *map(str, words)], capture_output=True, text=True, check=False)


def test_the_tool_puts_a_table_between_two_markers(tmp_path: Path) -> None:
    claims = [claim("one", holds), dataclasses.replace(claim("two", fails), bound="document", document="60")]
    measure_all(claims, Lab(False, SEED), "manikin reproduce x --out", out=tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n<!-- claims -->\nold words\n<!-- end of claims -->\n\nThe rest.\n", encoding="utf-8")
    assert make_table(tmp_path / "claims.json", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Title\n\n<!-- claims -->\n`manikin reproduce x`, version ")
    assert text.endswith("<!-- end of claims -->\n\nThe rest.\n")
    assert "1 hold, 1 do not, 0 were not measured." in text
    assert "Of 2 criteria 1 are the document's and 1 are ours; 0 were replaced after a measurement." in text
    assert (tmp_path / "claims.md").read_text(encoding="utf-8") in text
    assert "old words" not in text
    # done again, it is the same
    assert make_table(tmp_path / "claims.json", page).returncode == 0
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("fault", ["quick", "markers", "json", "missing"])
def test_the_tool_refuses_in_one_line(tmp_path: Path, fault: str) -> None:
    measure_all([claim("one", holds)], Lab(fault == "quick", SEED), "manikin reproduce x --out", out=tmp_path)
    if fault == "json":
        (tmp_path / "claims.json").write_text("{}")
    page = tmp_path / "page.md"
    page.write_text("no markers" if fault == "markers" else "<!-- claims -->\n<!-- end of claims -->\n", encoding="utf-8")
    before = page.read_text(encoding="utf-8")
    done = make_table(tmp_path / ("nothing.json" if fault == "missing" else "claims.json"), page)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    words = {"quick": "--quick", "markers": "needs one line", "json": "is not a claims.json", "missing": "nothing.json"}
    assert words[fault] in done.stderr
    assert page.read_text(encoding="utf-8") == before


def test_the_page_of_the_docs_takes_a_table(tmp_path: Path) -> None:
    measure_all([claim("one", holds)], Lab(False, SEED), "manikin reproduce abe2006 --out", out=tmp_path)
    page = tmp_path / "reproduce.md"
    page.write_text((ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8"), encoding="utf-8")
    done = make_table(tmp_path / "claims.json", page)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "claims.md").read_text(encoding="utf-8") in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("press", [stops, stops_in_a_kernel])
def test_an_interrupt_keeps_what_was_finished(tmp_path: Path, press: Callable[[Lab], Finding]) -> None:
    claims = [claim("one", holds), claim("two", press), claim("three", holds)]
    try:
        outcome = measure_all(claims, Lab(True, SEED), "x", out=tmp_path)
    except KeyboardInterrupt:
        pytest.fail("the interrupt was passed on")
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
    assert code == 130
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

"""The tables of claims in the docs are those of the code: one that was edited by hand, or is out of date, is found.

Only measured numbers are taken from the page; every other cell is made again, by the functions that make the tables.
"""

import dataclasses
import re
import runpy
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import manikin as mk
from manikin.papers import DOCUMENTS
from manikin.papers.claims import Change, Claim, Finding, Lab
from manikin.papers.reproduce import Row, as_row, as_table, counts, sources_hash

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "make_claims_table.py"))
PAGES = {"abe2006": "reproduce.md", "kim2011": "kim2011.md"}
HOLDS = {"yes": True, "**no**": False}
# columns of the table that are measured: the number, and whether it holds
MEASURED = (4, 6)


def test_every_document_has_a_page_with_its_table() -> None:
    assert PAGES.keys() == DOCUMENTS.keys()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_table_of_the_page_is_that_of_the_code(name: str) -> None:
    page = (ROOT / "docs" / PAGES[name]).read_text(encoding="utf-8")
    document = import_module(DOCUMENTS[name])
    assert faults(page, name, document.CLAIMS, document.SEED) == []


def faults(page: str, name: str, claims: tuple[Claim, ...], seed: int) -> list[str]:
    """What differs between the page and the claims, in one line each."""
    _, shown, _ = TOOL["between"](page)
    rows = rows_of(shown, name, claims, seed)
    return heading_faults(shown, rows) + table_faults(shown, rows)


def rows_of(shown: str, name: str, claims: tuple[Claim, ...], seed: int) -> list[Row]:
    """The rows of claims.json with the results of the page; a claim that is not there counts as not measured."""
    held = {cells[0].strip("`"): HOLDS.get(cells[-1]) for cells in tables(shown)[0][2:]}
    return [as_row(c, Finding(None, held.get(c.id)), 0.0, Lab(seed=seed), f"manikin reproduce {name} --out") for c in claims]


def heading_faults(shown: str, rows: list[Row]) -> list[str]:
    """The first lines, but for what was measured, and the time it took."""
    ours, theirs = (changeable(text) for text in (TOOL["heading"](rows), shown.split("\n|")[0].rstrip()))
    return [] if ours == theirs else [f"the lines above the table are not:\n{ours}"]


def changeable(heading: str) -> str:
    """The first lines without what another run of the same claims may change."""
    heading = re.sub(r"version [^,]+, sources [0-9a-f]+(, [0-9a-f]+)*,", "version V, sources H,", heading)
    return re.sub(r"took \d+ minutes", "took M minutes", heading)


def table_faults(shown: str, rows: list[Row]) -> list[str]:
    """Lines of one that the other lacks, and another order: measured numbers aside."""
    pairs = ((tables(text) + [[], []])[:2] for text in (as_table(rows), shown))
    (ours, changes), (theirs, their_changes) = pairs
    out = differences([stated(cells) for cells in ours], [stated(cells) for cells in theirs])
    return out + differences(changes, their_changes)


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text, each as the cells of its lines."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return [[[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()] for block in blocks]


def stated(cells: list[str]) -> list[str]:
    """What the code states of a claim."""
    return [cell for k, cell in enumerate(cells) if k not in MEASURED]


def differences(ours: list[list[str]], theirs: list[list[str]]) -> list[str]:
    missing = [f"not on the page: {' | '.join(cells)}" for cells in ours if cells not in theirs]
    strange = [f"only on the page: {' | '.join(cells)}" for cells in theirs if cells not in ours]
    return missing + strange or ([] if ours == theirs else ["the page has another order, or a line twice"])


# --- pages that are not right


def look(lab: Lab) -> Finding:
    return Finding(1.0, True)


SEED = 7
MOVED = Change("below 2 cm", "below 1 cm", "it was 3 | 4")
PLAIN = Claim("one", "one is so", "section 5", "60", "m", "look", look, "document")
CLAIMS = (
    PLAIN,
    dataclasses.replace(PLAIN, id="two", claim="two is | so", bound="ours", changed=(MOVED,)),
    dataclasses.replace(PLAIN, id="three", claim="three is so"),
)
FOUND = (Finding(1.5, True), Finding(2.5, False), Finding(None, None, {}, "for the eye to judge"))


def page_of(claims: tuple[Claim, ...], found: tuple[Finding, ...] = FOUND) -> str:
    """A page as the tool writes it."""
    rows = [as_row(c, f, 30.0, Lab(seed=SEED), "manikin reproduce x --out") for c, f in zip(claims, found)]
    text: str = TOOL["insert"]("# Title\n\n<!-- claims -->\n<!-- end of claims -->\n\nThe rest.\n", TOOL["section"](rows))
    return text


def test_a_page_that_the_tool_wrote_has_no_faults() -> None:
    page = page_of(CLAIMS)
    assert faults(page, "x", CLAIMS, SEED) == []
    assert f"version {mk.__version__}, sources {sources_hash()}, seed 7: 1 hold, 1 do not, 1 were not measured." in page
    assert "| `three` | three is so | section 5 | 60 | - | - | not measured: for the eye to judge |" in page
    assert "| `two` | below 2 cm | below 1 cm | it was 3 / 4 |" in page


def test_another_run_of_the_same_claims_has_no_faults() -> None:
    page = page_of(CLAIMS).replace(sources_hash(), "0123456789ab, 123456789abc").replace("took 2 minutes", "took 16 minutes")
    assert faults(page.replace("1.5 m", "1.6 m"), "x", CLAIMS, SEED) == []


def test_no_claim_has_changed_a_criterion() -> None:
    assert faults(page_of((PLAIN,)), "x", (PLAIN,), SEED) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("one is so", "one may be so"),
        ("| section 5 | 60 |", "| section 6 | 60 |"),
        ("| 60 |", "| 62 |"),
        ("ours, changed", "ours"),
        ("| - | - |", "| - | ours |"),
        ("`three`", "`four`"),
        ("below 1 cm", "below 3 cm"),
        ("| **no** |", "| yes |"),
        ("seed 7", "seed 8"),
        ("1 hold, 1 do not", "2 hold, 0 do not"),
        ("Of 2 criteria", "Of 3 criteria"),
        ("| `three` | three is so | section 5 | 60 | - | - | not measured: for the eye to judge |\n", ""),
    ],
)
def test_a_page_that_was_edited_is_found(before: str, after: str) -> None:
    page = page_of(CLAIMS)
    assert before in page
    assert faults(page.replace(before, after), "x", CLAIMS, SEED)


@pytest.mark.parametrize(
    "change",
    [
        lambda claims: claims[:2],
        lambda claims: (*claims, dataclasses.replace(PLAIN, id="four", claim="four is so")),
        lambda claims: (claims[1], claims[0], claims[2]),
        lambda claims: (dataclasses.replace(claims[0], claim="one was so"), *claims[1:]),
        lambda claims: (dataclasses.replace(claims[0], bound="ours"), *claims[1:]),
        lambda claims: (claims[0], dataclasses.replace(claims[1], changed=(MOVED, MOVED)), claims[2]),
        lambda claims: tuple(dataclasses.replace(c, changed=()) for c in claims),
    ],
)
def test_a_page_that_is_out_of_date_is_found(change: Callable[[tuple[Claim, ...]], tuple[Claim, ...]]) -> None:
    assert faults(page_of(CLAIMS), "x", change(CLAIMS), SEED)


def test_counts_are_of_the_page() -> None:
    _, shown, _ = TOOL["between"](page_of(CLAIMS))
    assert counts(rows_of(shown, "x", CLAIMS, SEED)) == "1 hold, 1 do not, 1 were not measured"

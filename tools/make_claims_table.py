"""Put the table of a full `manikin reproduce` run between two markers of a page.

    manikin reproduce abe2006 --out abe2006
    python tools/make_claims_table.py abe2006/claims.json docs/reproduce.md
    manikin reproduce kim2011 --out kim2011
    python tools/make_claims_table.py kim2011/claims.json docs/kim2011.md

The page holds a line `<!-- claims -->` and, further down, a line `<!-- end of claims -->`; the text between is replaced: the
run in three lines, the table, and the criteria that were replaced. `tests/papers/test_claims_tables.py` compares it with the
claims.
"""

import argparse
import json
import sys
from pathlib import Path

from manikin.papers.reproduce import Row, as_table, counts

BEGIN, END = "<!-- claims -->", "<!-- end of claims -->"
# what the first lines are made from
NEEDED = {"bound", "changed", "command", "holds", "quick", "seconds", "seed", "sources", "version"}


class Refused(Exception):
    """The table cannot be made; the message says why."""


def read_rows(path: Path) -> list[Row]:
    """The claims of a full run."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}") from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and set(row) >= NEEDED for row in rows):
        raise Refused(f"{path}: is not a claims.json of `manikin reproduce`")
    if any(row["quick"] for row in rows):
        raise Refused(f"{path}: measured with --quick; the pages show full runs only")
    return rows


def heading(rows: list[Row]) -> str:
    """The run in three lines."""
    first, document, result = rows[0], rows[0]["command"].split()[2], counts(rows)
    # of rows that were measured with different sources, all of them
    sources = ", ".join(dict.fromkeys(row["sources"] for row in rows))
    decided = [row["bound"] for row in rows if row["holds"] is not None]
    took = sum(row["seconds"] for row in rows) / 60
    return (
        f"`manikin reproduce {document}`, version {first['version']}, sources {sources}, seed {first['seed']}: {result}.\n"
        f"Of {len(decided)} criteria {decided.count('document')} are the document's and {decided.count('ours')} are ours; "
        f"{sum(bool(row['changed']) for row in rows)} were replaced after a measurement.\n"
        f"It took {took:.0f} minutes. What each number must be is in `how` of `claims.json`."
    )


def section(rows: list[Row]) -> str:
    """What goes between the markers."""
    return f"{heading(rows)}\n\n{as_table(rows)}"


def between(page: str) -> tuple[str, str, str]:
    """The page up to its first marker, what is between the markers, and the page from the second marker on."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise Refused(f"needs one line '{BEGIN}' and, below it, one line '{END}'")
    before, rest = page.split(BEGIN)
    shown, after = rest.split(END)
    return f"{before}{BEGIN}\n", shown.removeprefix("\n"), f"{END}{after}"


def insert(page: str, text: str) -> str:
    """The page with `text` between its markers."""
    before, _, after = between(page)
    return f"{before}{text}{after}"


def main(words: list[str]) -> int:
    options = argparse.ArgumentParser(description="Put a table of claims into a page of the documentation.")
    options.add_argument("claims", type=Path, help="claims.json of a full run")
    options.add_argument("page", type=Path, help="the page, with its markers")
    given = options.parse_args(words)
    try:
        rows = read_rows(given.claims)
        try:
            given.page.write_text(insert(given.page.read_text(encoding="utf-8"), section(rows)), encoding="utf-8")
        except (OSError, Refused) as error:
            raise Refused(f"{given.page}: {error}") from error
    except Refused as error:
        print(f"make_claims_table: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

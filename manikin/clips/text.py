"""Text files of numbers, plain or gzipped, with errors that name the line."""

import gzip
import math
import re
import zlib
from pathlib import Path
from typing import NoReturn

from manikin.errors import ClipError
from manikin.files import LOAD_VARIABLE, load_limit, one_line

# Read, a text takes about ten times its size in memory, and a line some 200 bytes: the limit of files.py holds for that.
_PER_CHARACTER, _PER_LINE = 10, 200
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
# a frame of 500 joints with six long numbers each has 60,000 characters
LONGEST_LINE = 1_000_000
# lengths in any unit and angles in degrees stay far below this; squares and products of it remain finite
HUGE = 1e9


def kind_of(path: Path) -> str:
    """Extension in lower case, without .gz: 'walk.BVH.gz' -> '.bvh'."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def read_lines(path: Path) -> list[str]:
    """All lines of a text file, with any line ending. Files too large for memory are refused (see load_limit)."""
    largest = load_limit() // _PER_CHARACTER
    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            data = stream.read(largest + 1)
    except FileNotFoundError:
        raise ClipError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ClipError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(data) > largest:
        raise ClipError(f"{path}: more than {largest / 1e6:.0f} million characters; {LOAD_VARIABLE} raises the limit")
    if b"\0" in data:
        raise ClipError(f"{path}: not a text file (UTF-8 is expected)")
    most = load_limit() // _PER_LINE
    if max(data.count(b"\n"), data.count(b"\r")) > most:
        raise ClipError(f"{path}: more than {most / 1e6:.0f} million lines; {LOAD_VARIABLE} raises the limit")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # old exporters write comments and names in old code pages
        text = data.decode("latin-1")
    lines = _LINE_ENDS.split(text)
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise ClipError(f"{path} line {number}: the line is longer than {LONGEST_LINE} characters")
    return lines


class Lines:
    """Reads the words of a file line by line and keeps the line number. Blank lines are skipped."""

    def __init__(self, path: Path, lines: list[str], comment: str | None = None) -> None:
        self.path = path
        self.lines = lines
        self.comment = comment
        self.at = 0  # line about to be read, from 0

    def __bool__(self) -> bool:
        """Whether any words are left; advances to the next line with words."""
        while self.at < len(self.lines) and not self._words(self.at):
            self.at += 1
        return self.at < len(self.lines)

    def _words(self, at: int) -> list[str]:
        line = self.lines[at]
        return (line.split(self.comment, 1)[0] if self.comment else line).split()

    def peek(self, wanted: str) -> list[str]:
        """Words of the next line, or an error that says what was expected."""
        if not self:
            self.at = len(self.lines)
            raise self.wrong(f"the file ends where {wanted} is expected", len(self.lines))
        return self._words(self.at)

    def take(self, wanted: str) -> list[str]:
        """Like peek, and advance to the next line."""
        words = self.peek(wanted)
        self.at += 1
        return words

    def wrong(self, message: str, line: int | None = None) -> ClipError:
        """An error at a line (counted from 1), or at the one last taken. Names in it may contain anything."""
        return ClipError(f"{self.path} line {max(1, self.at if line is None else line)}: {one_line(message)}")

    def fail(self, message: str) -> NoReturn:
        raise self.wrong(message)

    def numbers(self, words: list[str], what: str, line: int | None = None) -> list[float]:
        """Finite numbers of a plausible size, or an error that quotes the first word that is not one."""
        try:
            values = [float(w) for w in words]
        except ValueError:
            bad = next(w for w in words if not _is_number(w))
            raise self.wrong(f"'{bad[:40]}' in {what} is not a number", line) from None
        for word, value in zip(words, values):
            if not math.isfinite(value):
                raise self.wrong(f"'{word[:40]}' in {what} is not a finite number", line)
            if abs(value) > HUGE:
                raise self.wrong(f"'{word[:40]}' in {what} is too large for a length or an angle", line)
        return values

    def whole(self, word: str, what: str) -> int:
        """A whole number, zero or more."""
        if not word.isascii() or not word.isdigit() or len(word) > 12:
            self.fail(f"'{word[:40]}' in {what} is not a whole number")
        return int(word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True

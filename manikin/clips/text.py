"""Text files of numbers, plain or gzipped, with errors that name the line."""

import gzip
import math
import zlib
from pathlib import Path
from typing import NoReturn

from manikin.errors import ClipError

# no motion file in use comes near this many characters; a small .gz that unfolds beyond is an attack or a mistake
LARGEST = 500_000_000


def kind_of(path: Path) -> str:
    """Extension in lower case, without .gz: 'walk.BVH.gz' -> '.bvh'."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def read_lines(path: Path) -> list[str]:
    """All lines of a text file, whatever their ends."""
    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise ClipError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ClipError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(data) > LARGEST:
        raise ClipError(f"{path}: larger than {LARGEST // 1_000_000} million characters")
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        # old exporters write comments and names in the code page of their day
        text = data.decode("latin-1")
        if "\0" in text:
            raise ClipError(f"{path}: not a text file") from None
        return text.splitlines()


class Lines:
    """Walks over the words of a file, knowing where it is. Blank lines are passed over."""

    def __init__(self, path: Path, lines: list[str], comment: str | None = None) -> None:
        self.path = path
        self.lines = lines
        self.comment = comment
        self.at = 0  # line about to be read, from 0

    def __bool__(self) -> bool:
        """Whether anything is left; stands at the next line with words then."""
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
            raise self.wrong(f"the file ends where {wanted} should stand", len(self.lines))
        return self._words(self.at)

    def take(self, wanted: str) -> list[str]:
        """As peek, and go on to the line after."""
        words = self.peek(wanted)
        self.at += 1
        return words

    def wrong(self, message: str, line: int | None = None) -> ClipError:
        """An error at a line (counted from 1), or at the one last taken."""
        return ClipError(f"{self.path} line {max(1, self.at if line is None else line)}: {message}")

    def fail(self, message: str) -> NoReturn:
        raise self.wrong(message)

    def numbers(self, words: list[str], what: str, line: int | None = None) -> list[float]:
        """Finite numbers, or an error that shows the first word that is none."""
        try:
            values = [float(w) for w in words]
        except ValueError:
            bad = next(w for w in words if not _is_number(w))
            raise self.wrong(f"'{bad[:40]}' in {what} is not a number", line) from None
        for word, value in zip(words, values):
            if not math.isfinite(value):
                raise self.wrong(f"'{word}' in {what} is not a finite number", line)
        return values

    def whole(self, word: str, what: str) -> int:
        """A whole number, zero or more."""
        if not word.isascii() or not word.isdigit():
            self.fail(f"'{word[:40]}' in {what} is not a whole number")
        return int(word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True

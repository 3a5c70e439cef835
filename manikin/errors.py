"""Every error Manikin raises, in one tree.

ManikinError
├── InputError          what was given cannot be used (exit 2)
│   ├── SceneError      a scene file or a --set value
│   ├── ClipError       a motion clip
│   ├── RecordingError  a recording file
│   └── OutputError     a file that cannot be written
└── RunError            it started and failed (exit 1)
    ├── Diverged        the simulation blew up
    ├── Inverted        flesh was turned inside out
    └── OutOfReach      a hand is too far from what it should grasp
"""

import difflib
from collections.abc import Iterable


class ManikinError(Exception):
    """Base of all errors raised on purpose by this package."""


# a message quotes what a file holds, which may be of any length
LONGEST_MESSAGE = 1500


class InputError(ManikinError):
    """Bad input. The message says where, what was given, what is allowed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} ...")


class SceneError(InputError):
    """A scene file, or a value set on the command line, is wrong."""


class ClipError(InputError):
    """A motion clip cannot be read."""


class RecordingError(InputError):
    """A recording cannot be read, or is not one."""


class OutputError(InputError):
    """An output file cannot be written, or its kind is unknown."""


class RunError(ManikinError):
    """A run started and failed."""


class Diverged(RunError):
    """The simulation blew up: `time` [s] and the fastest `body` say where to look."""

    def __init__(self, time: float, body: str, what: str) -> None:
        self.time, self.body, self.what = time, body, what
        super().__init__(f"the simulation diverged at {time:.3f} s: body '{body}', {what}")


class Inverted(RunError):
    """A tetrahedron of soft flesh was turned inside out at `time` [s]: what followed would not be physical."""

    def __init__(self, time: float, flesh: str) -> None:
        self.time, self.flesh = time, flesh
        super().__init__(f"'{flesh}' was turned inside out at {time:.3f} s: drag more gently, or make it stiffer")


class OutOfReach(RunError):
    """A hand is too far from a prop to grasp it: `gap` [m] from palm to surface, `most` [m] allowed."""

    def __init__(self, hand: str, prop: str, gap: float, most: float) -> None:
        self.hand, self.prop, self.gap = hand, prop, gap
        super().__init__(f"{hand} is {above(100 * gap, 100 * most, 1)} cm from {prop}; a grasp needs {100 * most:g} cm")


def shown(value: object) -> str:
    """What was given, as one line of an error message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:56]} ..."


def above(value: float, limit: float, decimals: int = 2) -> str:
    """A number with some decimals, or as many as show that it is above a limit."""
    while decimals < 9 and value > limit >= float(f"{value:.{decimals}f}"):
        decimals += 1
    return f"{value:.{decimals}f}"


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """The tail of an error message: the nearest match, then all that is allowed."""
    # names may come from a file, as long and as many as they like
    given, allowed = given[:80], [name[:60] for name in allowed]
    names = list(allowed)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.6)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    shown = ", ".join(names[:60]) + (", ..." if len(names) > 60 else "")
    return f"{hint} (allowed: {shown})" if names else f"{hint} (none allowed here)"


# file formats that people ask for, and ours that serve the same purpose
_SIMILAR = {".gltf": ".glb", ".fbx": ".glb", ".usdz": ".usdc", ".jpg": ".png", ".jpeg": ".png", ".gif": ".mp4", ".mov": ".mp4"}


def did_you_mean_kind(extension: str, allowed: Iterable[str]) -> str:
    """As did_you_mean, for extensions of files. They are so short that only a single slip makes two of them alike."""
    names, given = list(allowed), extension.lower()
    near = [n for n in names if _one_slip(given, n)] or [n for n in names if n == _SIMILAR.get(given)]
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{hint} (allowed: {', '.join(names)})"


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter is missing, superfluous or wrong, or two neighbours are swapped."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1:
        return False
    if len(a) < len(b):
        return any(b[:k] + b[k + 1 :] == a for k in range(len(b)))
    wrong = [k for k in range(len(a)) if a[k] != b[k]]
    if len(wrong) == 2:
        i, j = wrong
        return j == i + 1 and a[i] == b[j] and a[j] == b[i]
    return len(wrong) == 1

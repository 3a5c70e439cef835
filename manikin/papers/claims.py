"""Claims: what a document states, how we measure it, and what was seen. For `manikin reproduce`.

The rule: claim and bound come from the document's words and are fixed before anything is measured. Where the document gives
no number, the bound is ours and says so. A criterion that has to be replaced after a measurement says from what, to what and
why; if it had been missed, it says that too. Lists are counted from what ran. A claim that does not hold is a result like any
other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from manikin.api import run
from manikin.export.save import Take
from manikin.scenes.scene import Scene, load_scene

Progress = Callable[[float], None]
T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class Finding:
    """What a measurement found.

    ours: the number that decides; numbers: everything that was seen; holds: None when it was not measured.
    """

    ours: float | None
    holds: bool | None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


def unmeasured(reason: str) -> Finding:
    """A statement that no number decides, or that could not be measured, and why."""
    return Finding(None, None, {}, reason)


class Lab:
    """Runs scenes for claims, each only once. quick: smaller series and campaigns."""

    def __init__(self, quick: bool = False, seed: int = 0, progress: Progress | None = None) -> None:
        self.quick, self.seed = quick, seed
        self.progress: Progress = progress or (lambda fraction: None)
        self._known: dict[Any, Any] = {}

    def pick(self, quick: T, full: T) -> T:
        """The smaller or the whole series."""
        return quick if self.quick else full

    def take(self, scene: str, changes: Mapping[str, Any] | None = None, seconds: float | None = None) -> Take:
        """A take of a shipped scene with keys changed; asked for again, the same take."""
        named = dict(changes or {})
        return self.once((scene, repr(sorted(named.items())), seconds), lambda: whole_take(load_scene(scene, named), seconds))

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What `make` returns; it is called only once for a key."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def campaign(self, key: Any, trials: Sequence[S], perform: Callable[[S], T]) -> list[T]:
        """The outcome of each of many trials; they are performed only once for a key."""

        def outcomes() -> list[T]:
            out = []
            for k, trial in enumerate(trials):
                out.append(perform(trial))
                self.progress((k + 1) / len(trials))
            return out

        return self.once(key, outcomes)


def whole_take(scene: Scene, seconds: float | None = None) -> Take:
    """Run a scene; an interrupt is passed on, because half a take is no measurement."""
    take = run(scene, seconds=seconds)
    if str(take.report["reason"]).startswith("interrupted"):
        raise KeyboardInterrupt
    return take


@dataclass(frozen=True)
class Change:
    """A criterion that was replaced after it had been measured: from what, to what, and why."""

    before: str
    after: str
    why: str


@dataclass(frozen=True)
class Claim:
    """One statement. source: section or figure; document: the words or number printed there, or 'not said'; how: what is
    measured, and what must be seen for the claim to hold.

    bound: who set the criterion that decides: the document, or we, because the document gives none.
    changed: every criterion that was replaced after a measurement, oldest first.
    """

    id: str
    claim: str
    source: str
    document: str
    unit: str
    how: str
    measure: Callable[[Lab], Finding]
    bound: Literal["document", "ours"] = "ours"
    changed: tuple[Change, ...] = ()


def plain(value: Any) -> Any:
    """numpy's numbers as JSON's, with six digits; infinities and NaN become null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value

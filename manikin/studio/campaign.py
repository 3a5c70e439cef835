"""Long campaigns of random dragging and pushing: no divergence goes unreported, memory does not grow, no page waits."""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import numpy as np

from manikin.errors import InputError
from manikin.machine import on_all_cores
from manikin.scenes.scene import shipped
from manikin.studio import messages as m
from manikin.studio.descriptions import model_message
from manikin.studio.measure import Figures, Served, memory_mb, served, watchers
from manikin.studio.names import SLOTS
from manikin.studio.session import Session
from manikin.studio.takes import TakeFolder


class Monkey:
    """A user who grabs and pushes everything at random; the same seed gives the same drags."""

    def __init__(self, model: m.Model | dict[str, Any], seed: int = 0) -> None:
        shown = json.loads(m.dump(model)) if isinstance(model, m.Model) else model
        self.rng = np.random.default_rng(seed)
        self.targets = [(b["name"], mode) for b in shown["bodies"] for mode in b["modes"]]
        self.targets += [(marker["name"], "goal") for marker in shown["markers"]]
        self.targets += [(handle["name"], "com") for handle in shown["handles"]]
        self.knobs = [k for k in shown["knobs"] if k["live"]]
        # creatures under direct control are pinned as well
        self.bones = [b["name"] for b in shown["bodies"] if b["part_of"] == "character"] if shown["direct"] else []
        self.held = False
        self.hold = ("", "")  # what is, or was last, held: its name and how
        self.place = np.zeros(3)

    def act(self) -> list[m.ClientMessage]:
        """What it does in a tenth of a second."""
        rng = self.rng
        if self.bones and rng.random() < 0.1:
            return [self._pin()]
        if not self.held:
            if rng.random() < 0.7:
                return []
            name, mode = self.hold = self.targets[int(rng.integers(len(self.targets)))]
            self.held = True
            self.place = rng.uniform([-0.3, -0.6, 0.2], [0.7, 0.6, 1.6])
            x, y, z = rng.uniform(-0.03, 0.03, 3).tolist()
            return [m.Grab(name, mode, (x, y, z)), self._drag()]
        if rng.random() < 0.1:
            self.held = False
            return [m.Release()]
        if self.knobs and rng.random() < 0.05:
            knob = self.knobs[int(rng.integers(len(self.knobs)))]
            value = rng.integers(len(knob["choices"])) if knob["choices"] else rng.uniform(knob["low"], knob["high"])
            return [m.Knob(knob["path"], float(value)), self._drag()]
        return [self._drag()]

    def _pin(self) -> m.ClientMessage:
        """Add a pin, perhaps for an event, remove one, or change a priority."""
        rng = self.rng
        slot = SLOTS[int(rng.integers(4))]
        chance = rng.random()
        if chance < 0.3:
            return m.Unpin(slot)
        if chance < 0.5:
            return m.Rank(slot, int(rng.integers(3)))
        events = (None, *get_args(m.Event))
        at, until = (events[int(rng.integers(len(events)))] for _ in range(2))
        what: m.What = "turn" if rng.random() < 0.5 else "angle"
        return m.Pin(self.bones[int(rng.integers(len(self.bones)))], what, at, bool(rng.random() < 0.5), until)

    def _drag(self) -> m.Drag:
        self.place = self.place + self.rng.normal(0, 0.05, 3)
        x, y, z = self.place.tolist()
        return m.Drag((x, y, z))


def campaign(
    seconds: float, paced: float, scenes: list[str] | None = None, progress: Callable[[float], None] = lambda fraction: None
) -> Figures:
    """Simulated seconds of random dragging and pushing in each scene, unpaced and on all cores; then paced seconds on `lift`.

    Interrupted, it reports the scenes that were finished."""
    out: Figures = {}
    names = scenes or list(shipped())
    with suppress(KeyboardInterrupt):
        for k, (name, figures) in enumerate(on_all_cores(_campaign_in, [(name, seconds) for name in names])):
            out |= {f"campaign.{name}.{key}": value for key, value in figures.items()}
            progress((k + 1) / (len(names) + 1))
        if paced > 0:
            with served() as server:
                out |= {f"campaign.paced.{key}": value for key, value in asyncio.run(_paced(server, paced)).items()}
    return out


def _campaign_in(scene: str, seconds: float) -> tuple[str, Figures]:
    return scene, unpaced(scene, seconds)


def unpaced(scene: str, seconds: float, seed: int = 0, breaks: list[str] | None = None) -> Figures:
    """As fast as it goes. diverged_NAME: how often it broke while something was held in that mode.

    unreported: breaks without a message to the page; not_rewound: those after which it did not go back by itself;
    not_recovered: resets after these that did not help. breaks: gets a line for each: when, what was held, and what broke.
    """
    errors: list[str] = []

    def note(key: str, content: str | bytes) -> None:
        if key.startswith("error"):
            errors.append(json.loads(content)["message"])

    with tempfile.TemporaryDirectory(prefix="manikin-") as folder:
        session = Session(TakeFolder(Path(folder)), note)
        session.handle(m.Open(scene))
        assert session.live is not None
        monkey = Monkey(model_message(session.live, session.take), seed)
        per_act = round(0.1 / session.live.world.timestep)
        diverged = unreported = stuck = refused = waiting = 0
        by = dict.fromkeys(("task", "push", "spring", "goal", "com", "nothing"), 0.0)
        memory, done = 0.0, 0.0
        while done < seconds:
            for message in monkey.act():
                try:
                    session.handle(message)
                except InputError:
                    # such as a marker whose task has ended
                    refused += 1
                    monkey.held = False
            for _ in range(per_act):
                session._steps(1)
                if session.breaks > diverged:
                    break
            session._due = dict.fromkeys(session._due, 0.0)
            session._publish(time.perf_counter())
            done += 0.1
            if not memory and done > 0.1 * seconds:
                memory = memory_mb()
            if session.breaks > diverged:
                diverged = session.breaks
                by[monkey.hold[1] if monkey.held else "nothing"] += 1
                if breaks is not None:
                    breaks.append(
                        f"{done:.1f} s: {monkey.hold if monkey.held else 'nothing held'}: {errors[-1] if errors else ''}"
                    )
                unreported += not any("; rewound" in text or "; reset" in text for text in errors)
                errors.clear()
                monkey.held = False
                if session.diverged:
                    waiting += 1
                    session.handle(m.Reset())
                    session._steps(1)
                    stuck += bool(session.diverged)
        growth = memory_mb() - memory
        length = session.live.time
        session._close_take()
    return {
        "seconds": round(done, 1), "diverged": float(diverged), "unreported": float(unreported), "not_rewound": float(waiting),
        "not_recovered": float(stuck),
        **{f"diverged_{mode}": count for mode, count in by.items()},
        "refused": float(refused), "last_take_seconds": round(length, 1), "memory_growth_mb": round(growth, 1),
    }  # fmt: skip


async def _paced(server: Served, seconds: float) -> Figures:
    async with watchers(server, 2) as clients:
        first = clients[0]
        await first.say(m.Open("lift"))
        while not first.model:
            await asyncio.sleep(0.05)
        await first.say(m.Play())
        # the first step may have to wait for kernels to be compiled
        while server.stats()["time"] < 0.1:
            await asyncio.sleep(0.1)
        monkey = Monkey(first.model)
        began, memory, diverged, longest = time.perf_counter(), 0.0, 0, 0.0
        earlier = server.stats()
        while time.perf_counter() - began < seconds:
            for message in monkey.act():
                await first.say(message)
            await asyncio.sleep(0.1)
            longest = max(longest, *(time.perf_counter() - c.last for c in clients))
            broke = [e for e in first.errors if "; rewound" in e or "; reset" in e]
            if broke:
                diverged += len(broke)
                first.errors.clear()
                monkey.held = False
                if any("; reset" in e for e in broke):
                    await first.say(m.Reset())
                await first.say(m.Play())
            if not memory and time.perf_counter() - began > 0.1 * seconds:
                memory = server.stats()["memory"]
        after = server.stats()
        frames = min(c.frames for c in clients)
    return {
        "seconds": round(seconds, 1), "diverged": float(diverged), "still_diverged": float(bool(after["diverged"])),
        "memory_growth_mb": round(after["memory"] - memory, 1), "longest_silence_s": round(longest, 2),
        "frames_per_second": round(frames / (after["wall"] - earlier["wall"]), 1),
    }  # fmt: skip

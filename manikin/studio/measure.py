"""How fast the studio is, seen by raw clients from another process; and long campaigns of random dragging and pushing.

Run as a program it serves a scene and tells its own figures, one JSON object for each line that it is sent.
"""

import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from websockets import Origin
from websockets.asyncio.client import ClientConnection, connect

from manikin.errors import InputError, RunError
from manikin.scenes.scene import load_scene, shipped
from manikin.studio import messages as m
from manikin.studio.live import Live
from manikin.studio.server import Running, Studio
from manikin.studio.session import Session
from manikin.studio.takes import Journal, TakeFolder
from manikin.studio.telling import model_message

Figures = dict[str, float]
# pointer events per second of a quick mouse
POINTER = 120.0


# --- a server of its own


class Served:
    """A studio in another process, asked for its figures."""

    def __init__(self, folder: Path) -> None:
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "manikin.studio.measure", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=os.environ | threads | path,
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: IO[str] = self._process.stdin
        self._out: IO[str] = self._process.stdout
        told = self.stats()
        self.port, self.token = int(told["port"]), str(told["token"])

    def stats(self) -> dict[str, Any]:
        self._in.write("\n")
        self._in.flush()
        line = self._out.readline()
        if not line:
            raise RunError("the measured studio ended")
        return dict(json.loads(line))

    def close(self) -> None:
        self._in.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()


@contextlib.contextmanager
def served() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="manikin-") as folder:
        server = Served(Path(folder))
        try:
            yield server
        finally:
            server.close()


def serve(folder: Path) -> None:
    """The other end."""
    with Running(Studio(TakeFolder(folder))) as running:
        session = running.studio.session
        for _ in sys.stdin:
            live = session.live
            told = {
                "port": running.port, "token": running.studio.token, "cpu": time.process_time(), "steps": session.step_seconds,
                "wall": time.perf_counter(), "time": 0.0 if live is None else live.time, "diverged": session.diverged,
                "memory": memory_mb(), "delays": list(session.delays), "threads": threading.active_count(),
            }  # fmt: skip
            session.delays.clear()
            print(json.dumps(told), flush=True)


def memory_mb() -> float:
    """What this process holds now [MB]."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


# --- clients


class Watcher:
    """A client that reads everything, and counts."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames = self.texts = 0
        self.last = time.perf_counter()
        self.model: dict[str, Any] = {}
        self.errors: list[str] = []
        self.reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for content in self.socket:
            self.last = time.perf_counter()
            if isinstance(content, bytes):
                self.frames += content[0] == m.LIVE
                continue
            self.texts += 1
            if '"kind":"model"' in content[:20]:
                self.model = json.loads(content)
            elif '"kind":"error"' in content[:20]:
                self.errors.append(json.loads(content)["message"])

    async def say(self, message: m.ClientMessage) -> None:
        await self.socket.send(m.dump(message))


@contextlib.asynccontextmanager
async def watchers(server: Served, count: int):  # type: ignore[no-untyped-def]
    """Clients with the right token and origin."""
    url = f"ws://127.0.0.1:{server.port}/ws?token={server.token}"
    async with contextlib.AsyncExitStack() as stack:
        out = []
        for _ in range(count):
            origin = Origin(f"http://127.0.0.1:{server.port}")
            out.append(Watcher(await stack.enter_async_context(connect(url, origin=origin, compression=None))))
        yield out
        for client in out:
            client.reader.cancel()


async def _window(server: Served, clients: list[Watcher], seconds: float, sent: dict[float, float]) -> dict[str, Any]:
    """Drag for some seconds; what the server says about them, and the frames that the first client got."""
    before, frames = server.stats(), clients[0].frames
    began = time.perf_counter()
    number = 0
    while time.perf_counter() - began < seconds:
        number += 1
        x = 0.3 + 0.05 * np.sin(6 * (time.perf_counter() - began))
        stamp = float(len(sent) + 1)
        sent[stamp] = time.perf_counter()
        await clients[0].say(m.Drag((float(x), -0.2, 1.0), stamp=stamp))
        await asyncio.sleep(max(0.0, began + number / POINTER - time.perf_counter()))
    after = server.stats()
    wall = after["wall"] - before["wall"]
    return {
        "pace": (after["time"] - before["time"]) / wall, "frames": (clients[0].frames - frames) / wall,
        "beyond": (after["cpu"] - before["cpu"] - (after["steps"] - before["steps"])) / wall,
        "delays": [when - sent[stamp] for stamp, _, when in after["delays"] if stamp in sent], "memory": after["memory"],
    }  # fmt: skip


async def _measure(server: Served, seconds: float) -> Figures:
    sent: dict[float, float] = {}
    async with watchers(server, 1) as (first,):
        await first.say(m.Open("lift"))
        await first.say(m.Play())
        await asyncio.sleep(1.0)
        await first.say(m.Grab("hand_r", "task"))
        await asyncio.sleep(1.0)
        alone = await _window(server, [first], seconds, sent)
        await first.say(m.Preview(True))
        await asyncio.sleep(3.0)
        previewed = await _window(server, [first], seconds, sent)
        await first.say(m.Preview(False))
        async with watchers(server, 7) as others:
            await asyncio.sleep(1.0)
            crowd = await _window(server, [first, *others], seconds, sent)
            fewest = min(c.frames for c in others)
        again = await _window(server, [first], seconds, sent)
    pace = 0.5 * (alone["pace"] + again["pace"])
    return {
        "event_to_physics_ms": round(1e3 * statistics.median(alone["delays"] or [float("nan")]), 2),
        "frames_per_second": round(alone["frames"], 1),
        "pace": round(alone["pace"], 3),
        "server_share_of_core": round(alone["beyond"] + recording_share(), 3),
        "pace_8_clients_over_1": round(crowd["pace"] / max(pace, 1e-9), 3),
        "frames_per_second_8_clients": round(crowd["frames"], 1),
        "frames_fewest_of_8": float(fewest),
        "pace_preview_over_none": round(previewed["pace"] / max(pace, 1e-9), 3),
    }


def recording_share(seconds: float = 2.0) -> float:
    """Processor time that the journal takes for each simulated second, taken off from the steps by turns."""
    costs = []
    with tempfile.TemporaryDirectory(prefix="manikin-") as folder:
        bare = Live(load_scene("lift"))
        recorded = Live(load_scene("lift"), partial(Journal, path=Path(folder) / "take.journal"))
        for _ in range(round(seconds / 0.1)):
            spent = []
            for live in (bare, recorded):
                began = time.thread_time()
                for _ in range(50):
                    live.step()
                spent.append(time.thread_time() - began)
            costs.append((spent[1] - spent[0]) / 0.1)
        assert isinstance(recorded.run.recorder, Journal)
        recorded.run.recorder.close(True, "", {})
    return max(0.0, float(np.median(costs)))


def bench_studio(seconds: float = 4.0) -> Figures:
    """The studio against the clock, with one and with eight raw clients, with the preview and without."""
    with served() as server:
        return asyncio.run(_measure(server, seconds))


# --- campaigns


class Monkey:
    """Someone who grabs and pushes everything, the same for the same seed."""

    def __init__(self, model: m.Model | dict[str, Any], seed: int = 0) -> None:
        told = json.loads(m.dump(model)) if isinstance(model, m.Model) else model
        self.rng = np.random.default_rng(seed)
        self.targets = [(b["name"], mode) for b in told["bodies"] for mode in b["modes"]]
        self.targets += [(marker["name"], "goal") for marker in told["markers"]]
        self.targets += [(handle["name"], "com") for handle in told["handles"]]
        self.knobs = [k for k in told["knobs"] if k["live"]]
        self.held = False
        self.place = np.zeros(3)

    def act(self) -> list[m.ClientMessage]:
        """What it does in a tenth of a second."""
        rng = self.rng
        if not self.held:
            if rng.random() < 0.7:
                return []
            name, mode = self.targets[int(rng.integers(len(self.targets)))]
            self.held = True
            self.place = rng.uniform([-0.3, -0.6, 0.2], [0.7, 0.6, 1.6])
            x, y, z = rng.uniform(-0.03, 0.03, 3).tolist()
            return [m.Grab(name, mode, (x, y, z)), self._drag()]
        if rng.random() < 0.1:
            self.held = False
            return [m.Release()]
        if self.knobs and rng.random() < 0.05:
            knob = self.knobs[int(rng.integers(len(self.knobs)))]
            return [m.Knob(knob["path"], float(rng.uniform(knob["low"], knob["high"]))), self._drag()]
        return [self._drag()]

    def _drag(self) -> m.Drag:
        self.place = self.place + self.rng.normal(0, 0.05, 3)
        x, y, z = self.place.tolist()
        return m.Drag((x, y, z))


def campaign(seconds: float, paced: float, scenes: list[str] | None = None) -> Figures:
    """Simulated seconds of random dragging and pushing in each scene, unpaced; then paced seconds on `lift`."""
    out: Figures = {}
    for name in scenes or list(shipped()):
        out |= {f"campaign.{name}.{key}": value for key, value in unpaced(name, seconds).items()}
    if paced > 0:
        with served() as server:
            out |= {f"campaign.paced.{key}": value for key, value in asyncio.run(_paced(server, paced)).items()}
    return out


def unpaced(scene: str, seconds: float) -> Figures:
    """As fast as it goes. unreported: divergences of which nobody was told; stuck: resets that did not help."""
    said: list[str] = []

    def hear(key: str, content: str | bytes) -> None:
        if key.startswith("error"):
            said.append(json.loads(content)["message"])

    with tempfile.TemporaryDirectory(prefix="manikin-") as folder:
        session = Session(TakeFolder(Path(folder)), hear)
        session.handle(m.Open(scene))
        assert session.live is not None
        monkey = Monkey(model_message(session.live, session.take))
        per_act = round(0.1 / session.live.world.timestep)
        diverged = unreported = stuck = refused = 0
        memory, done = 0.0, 0.0
        while done < seconds:
            for message in monkey.act():
                try:
                    session.handle(message)
                except InputError:
                    # such as a marker that its task has given up
                    refused += 1
                    monkey.held = False
            for _ in range(per_act):
                session._step()
                if session.diverged:
                    break
            session._due = dict.fromkeys(session._due, 0.0)
            session._tell(time.perf_counter())
            done += 0.1
            if not memory and done > 0.1 * seconds:
                memory = memory_mb()
            if session.diverged:
                diverged += 1
                unreported += not any("diverged" in text for text in said)
                said.clear()
                session.handle(m.Reset())
                session._step()
                stuck += bool(session.diverged)
                monkey.held = False
        growth = memory_mb() - memory
        length = session.live.time
        session._close_take()
    return {
        "seconds": round(done, 1), "diverged": float(diverged), "unreported": float(unreported), "not_recovered": float(stuck),
        "refused": float(refused), "last_take_seconds": round(length, 1), "memory_growth_mb": round(growth, 1),
    }  # fmt: skip


async def _paced(server: Served, seconds: float) -> Figures:
    async with watchers(server, 2) as clients:
        first = clients[0]
        await first.say(m.Open("lift"))
        while not first.model:
            await asyncio.sleep(0.05)
        await first.say(m.Play())
        monkey = Monkey(first.model)
        began, memory, diverged, longest = time.perf_counter(), 0.0, 0, 0.0
        told = server.stats()
        while time.perf_counter() - began < seconds:
            for message in monkey.act():
                await first.say(message)
            await asyncio.sleep(0.1)
            longest = max(longest, *(time.perf_counter() - c.last for c in clients))
            if any("diverged" in e for e in first.errors):
                diverged += 1
                first.errors.clear()
                monkey.held = False
                await first.say(m.Reset())
                await first.say(m.Play())
            if not memory and time.perf_counter() - began > 0.1 * seconds:
                memory = server.stats()["memory"]
        after = server.stats()
        frames = min(c.frames for c in clients)
    return {
        "seconds": round(seconds, 1), "diverged": float(diverged), "still_diverged": float(bool(after["diverged"])),
        "memory_growth_mb": round(after["memory"] - memory, 1), "longest_silence_s": round(longest, 2),
        "frames_per_second": round(frames / (after["wall"] - told["wall"]), 1),
    }  # fmt: skip


if __name__ == "__main__":
    serve(Path(sys.argv[1]))

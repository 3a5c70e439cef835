"""How fast the studio is, seen by raw clients from another process.

Run as a program it serves a scene and reports its own figures, one JSON object for each line it receives.
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

from manikin.errors import RunError
from manikin.scenes.scene import load_scene
from manikin.studio import messages as m
from manikin.studio.journal import Journal
from manikin.studio.live import Live
from manikin.studio.server import Running, Studio
from manikin.studio.takes import TakeFolder

Figures = dict[str, float]
# pointer events per second of a quick mouse
POINTER = 120.0
# a scene opens within this many seconds, even if nothing is compiled yet
PATIENCE = 300.0


# --- a server of its own


class Served:
    """A studio in another process that reports its figures."""

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
        figures = self.stats()
        self.port, self.token = int(figures["port"]), str(figures["token"])

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
            figures = {
                "port": running.port, "token": running.studio.token, "cpu": time.process_time(), "steps": session.step_seconds,
                "wall": time.perf_counter(), "time": 0.0 if live is None else live.time, "diverged": session.diverged,
                "memory": memory_mb(), "delays": list(session.delays), "threads": threading.active_count(),
            }  # fmt: skip
            session.delays.clear()
            print(json.dumps(figures), flush=True)


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
    """Drag for some seconds; the server's figures for them, and the frames that the first client got."""
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


async def _running(server: Served) -> None:
    """Wait until a second has been simulated."""
    end = time.monotonic() + PATIENCE
    while server.stats()["time"] < 1.0:
        if time.monotonic() > end:
            raise RunError(f"the scene has not begun to run in {PATIENCE:g} s")
        await asyncio.sleep(0.1)


async def _measure(server: Served, seconds: float) -> Figures:
    sent: dict[float, float] = {}
    async with watchers(server, 1) as (first,):
        await first.say(m.Open("lift"))
        await first.say(m.Play())
        await _running(server)
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


def recording_share(seconds: float = 6.0) -> float:
    """Processor time of the journal per simulated second: the difference between steps with and without it, alternating.

    The intervals are short, because the machine's speed changes, and whole frames; the outer quarters are left out.
    """
    turn, costs = 0.05, []
    with tempfile.TemporaryDirectory(prefix="manikin-") as folder:
        bare = Live(load_scene("lift"))
        recorded = Live(load_scene("lift"), partial(Journal, path=Path(folder) / "take.journal"))
        for number in range(round(seconds / turn)):
            spent = {}
            for live in (bare, recorded) if number % 2 else (recorded, bare):
                began = time.thread_time()
                for _ in range(round(turn / live.world.timestep)):
                    live.step()
                spent[live is recorded] = time.thread_time() - began
            costs.append((spent[True] - spent[False]) / turn)
        assert isinstance(recorded.run.recorder, Journal)
        recorded.run.recorder.close(True, "", {})
    costs.sort()
    return max(0.0, float(np.mean(costs[len(costs) // 4 : -len(costs) // 4])))


def bench_studio(seconds: float = 4.0) -> Figures:
    """The studio against the clock, with one and with eight raw clients, with the preview and without."""
    with served() as server:
        return asyncio.run(_measure(server, seconds))


if __name__ == "__main__":
    serve(Path(sys.argv[1]))

"""Listeners of the studio in tests: what a session sent, and a raw websocket client."""

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

from websockets import Origin
from websockets.sync.client import ClientConnection, connect

from manikin.studio.messages import ClientMessage, dump
from manikin.studio.server import Running


class Heard:
    """What a session sent."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str | bytes]] = []

    def __call__(self, key: str, content: str | bytes) -> None:
        self.all.append((key, content))

    def texts(self, kind: str) -> list[dict[str, Any]]:
        found = [json.loads(c) for _, c in self.all if isinstance(c, str)]
        return [t for t in found if t["kind"] == kind]

    def frames(self) -> list[bytes]:
        return [c for k, c in self.all if k == "frame" and isinstance(c, bytes)]


class Page:
    """A raw client: says messages, and waits for answers."""

    def __init__(self, running: Running, take: str = "") -> None:
        self.url = f"ws://127.0.0.1:{running.port}/ws?token={running.studio.token}&take={take}"
        self._open = contextlib.ExitStack()
        origin = Origin(f"http://127.0.0.1:{running.port}")
        self.socket: ClientConnection = self._open.enter_context(
            connect(self.url, origin=origin, max_size=None, max_queue=None)
        )
        self.binary: list[bytes] = []

    def say(self, message: ClientMessage) -> None:
        self.socket.send(dump(message))

    def close(self) -> None:
        self._open.close()

    def wait(
        self, kind: str, holds: Callable[[dict[str, Any]], bool] = lambda m: True, seconds: float = 20.0
    ) -> dict[str, Any]:
        """The next message of a kind for which something holds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            content = self.socket.recv(timeout=seconds)
            if isinstance(content, bytes):
                self.binary.append(content)
                continue
            message = json.loads(content)
            if message["kind"] == kind and holds(message):
                return dict(message)
        raise AssertionError(f"no such '{kind}' came in {seconds} s")

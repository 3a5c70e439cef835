"""A page's websocket. uvicorn hands the connection over when a request asks for one.

Hundreds of small messages per second pass through it: text messages in a single frame are read here, and what is sent is
written at once. Everything else (handshake, pings, closing, fragmented messages, protocol errors) is left to the `websockets`
package.
"""

import asyncio
from typing import Any, Protocol, cast

from uvicorn.config import Config
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from manikin.studio.clients import Client
from manikin.studio.messages import MAX_TEXT

# interval of pings [s]: a page that has not answered by the next one is gone
PING = 20.0
# the first byte of a text message in a single frame; the mask bit in the second byte
_TEXT, _MASKED = 0x81, 0x80


class Room(Protocol):
    """What accepts connections of pages."""

    def admits(self, request: Request) -> bool: ...

    def enter(self, client: Client, request: Request) -> None: ...

    def leave(self, client: Client) -> None: ...

    def receive(self, client: Client, text: str) -> None: ...


class Wire(asyncio.Protocol):
    """One connection to `client`. Created and ended by uvicorn."""

    _transport: asyncio.Transport

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        self._room: Room = app_state["room"]
        self._connections = cast(set[Any], server_state.connections)
        self._book = ServerProtocol(max_size=MAX_TEXT)
        self.client = Client()
        self._rest = b""  # bytes of an incomplete frame
        self._parts: list[Frame] = []  # parts of a fragmented message
        self._ping: asyncio.TimerHandle | None = None
        self._answered = True

    # --- events of the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._leave()

    def pause_writing(self) -> None:
        self.client.write = None

    def resume_writing(self) -> None:
        if self._book.state is State.OPEN:
            self.client.write = self._transport.write
            self.client.flush()

    def data_received(self, data: bytes) -> None:
        if self._book.state is not State.OPEN:
            self._by_the_book(data)
            return
        whole, self._rest = frames(self._rest + data if self._rest else data)
        for frame, text in whole:
            if text is None or self._parts:
                self._by_the_book(frame)
            else:
                self._hear(text)
            if self._book.state is not State.OPEN:
                return

    # --- the rest of the protocol

    def _by_the_book(self, data: bytes) -> None:
        book = self._book
        book.receive_data(data)
        for event in book.events_received():
            if isinstance(event, Request):
                self._greet(event)
            elif isinstance(event, Frame):
                self._take(event)
        self._settle()

    def _greet(self, request: Request) -> None:
        book = self._book
        admitted = self._room.admits(request)
        book.send_response(book.accept(request) if admitted else book.reject(403, "this page is not admitted\n"))
        self._settle()
        if book.state is State.OPEN:
            self.client.write = self._transport.write
            self._ping = asyncio.get_running_loop().call_later(PING, self._keep_alive)
            self._room.enter(self.client, request)

    def _take(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PONG:
            self._answered = True
        elif frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            self._parts.append(frame)
            if frame.fin:
                parts, self._parts = self._parts, []
                # pages send no binary messages
                self._hear(b"".join(p.data for p in parts) if parts[0].opcode is Opcode.TEXT else b"")

    def _hear(self, text: bytes) -> None:
        try:
            self._room.receive(self.client, text.decode())
        except UnicodeDecodeError:
            self._book.fail(1007, "a text that is not UTF-8")
            self._settle()

    def _settle(self) -> None:
        """Write what the protocol has queued; an empty chunk means that the connection ends."""
        pending = self._book.data_to_send()
        if pending:
            self._transport.write(b"".join(pending))
        if b"" in pending:
            self._leave()
            self._transport.close()

    # --- time

    def _keep_alive(self) -> None:
        if self._answered:
            self._answered = False
            self._book.send_ping(b"")
            self._ping = asyncio.get_running_loop().call_later(PING, self._keep_alive)
        else:
            self._book.fail(1011, "no answer to a ping")
        self._settle()

    def shutdown(self) -> None:
        """uvicorn shuts down."""
        if self._book.state is State.OPEN:
            self._book.send_close(1012)
            self._settle()
        self._leave()
        self._transport.close()

    def _leave(self) -> None:
        if self._ping is not None:
            self._ping.cancel()
            self._ping = None
        self.client.write = None
        self._room.leave(self.client)


def frames(data: bytes) -> tuple[list[tuple[bytes, bytes | None]], bytes]:
    """Split bytes from a page into whole frames, each with its content if it is a text message, and the rest.

    A frame that is unmasked or too long violates the protocol: it counts as one frame with all that follows.
    """
    out: list[tuple[bytes, bytes | None]] = []
    while len(data) >= 6:
        size, head = data[1] & 0x7F, 6
        if size >= 126:
            head = 8 if size == 126 else 14
            size = int.from_bytes(data[2 : head - 4], "big") if len(data) >= head else 0
        end = head + size
        if size > MAX_TEXT or not data[1] & _MASKED:
            end = len(data)
        if len(data) < end:
            break
        frame, data = data[:end], data[end:]
        plain = frame[0] == _TEXT and frame[1] & _MASKED and size <= MAX_TEXT
        out.append((frame, unmasked(frame, head) if plain else None))
    return out, data


def unmasked(frame: bytes, head: int) -> bytes:
    """The content of a frame that begins after `head` bytes, the last four of which are its mask."""
    size = len(frame) - head
    key = frame[head - 4 : head] * (size // 4 + 1)
    return (int.from_bytes(frame[head:], "big") ^ int.from_bytes(key[:size], "big")).to_bytes(size, "big")

"""The page's websocket: whole messages, parts, noise and silence."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_client import Page
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from manikin.studio import messages as m
from manikin.studio import wire
from manikin.studio.clients import Client
from manikin.studio.server import Running, Studio
from manikin.studio.takes import TakeFolder


def sent(content: bytes, opcode: Opcode = Opcode.TEXT, fin: bool = True) -> bytes:
    """A frame as a page sends it."""
    return bytes(Frame(opcode, content, fin).serialize(mask=True))


@contextlib.contextmanager
def connected(served: Running) -> Iterator[socket.socket]:
    """A connection after the handshake; what it says is up to the test."""
    head = f"GET /ws?token={served.studio.token} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nUpgrade: websocket\r\n"
    head += "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        raw.sendall(head.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += raw.recv(1)
        assert b" 101 " in answer
        yield raw


@pytest.fixture
def raw(served: Running) -> Iterator[socket.socket]:
    with connected(served) as raw:
        yield raw


def rest_of(raw: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    out = b""
    while chunk := raw.recv(65536):
        out += chunk
    return out


# --- frames


@given(
    st.lists(st.tuples(st.binary(max_size=300), st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.PONG])), max_size=6),
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
)
def test_frames_are_found_wherever_the_bytes_are_cut(frames: list[tuple[bytes, Opcode]], sizes: list[int]) -> None:
    frames = [(content[:125] if opcode is Opcode.PONG else content, opcode) for content, opcode in frames]
    said = [sent(*frame) for frame in frames]
    stream, found, rest, turn = b"".join(said), [], b"", 0
    while stream:
        size = sizes[turn % len(sizes)]
        rest, stream, turn = rest + stream[:size], stream[size:], turn + 1
        whole, rest = wire.frames(rest)
        found += whole
    assert rest == b""
    assert [frame for frame, _ in found] == said
    assert [text for _, text in found] == [content if opcode is Opcode.TEXT else None for content, opcode in frames]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 200_000])
def test_what_is_written_can_be_read_by_the_book(size: int) -> None:
    for content in ("x" * size, b"x" * size):
        client, written = Client(), list[bytes]()
        client.offer("key", content)
        client.write = written.append
        client.flush()
        opcode = Opcode.TEXT if isinstance(content, str) else Opcode.BINARY
        raw = content.encode() if isinstance(content, str) else content
        assert b"".join(written) == bytes(Frame(opcode, raw).serialize(mask=False))


# --- messages


def test_long_messages_and_messages_in_parts_are_heard(page: Page) -> None:
    page.socket.send('{"kind": "open", ' + " " * 100_000 + '"scene": "stand"}')
    assert page.wait("model")["scene"] == "stand"
    page.socket.send(['{"kind": "op', 'en", "scene"', ': "lift"}'])
    assert page.wait("model")["scene"] == "lift"
    # after parts, whole ones again
    page.say(m.Open("stand"))
    assert page.wait("model")["scene"] == "stand"


def test_a_ping_between_parts_is_answered(raw: socket.socket) -> None:
    raw.sendall(sent(b'{"kind": ', fin=False) + sent(b"here?", Opcode.PING) + sent(b'"noise"}', Opcode.CONT))
    answer = b""
    while b"noise" not in answer:
        answer += raw.recv(65536)
    assert answer.index(b"\x8a\x05here?") < answer.index(b"noise")


def test_binary_parts_are_noise(raw: socket.socket) -> None:
    raw.sendall(sent(b"x", Opcode.BINARY, fin=False) + sent(b'{"kind": "play"}', Opcode.CONT))
    answer = b""
    while b"not JSON" not in answer:
        answer += raw.recv(65536)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (sent(b"\xff\xfe"), 1007),
        (sent(b"\xff", fin=False) + sent(b"\xfe", Opcode.CONT), 1007),
        (b"\x81\x05hello", 1002),  # without a mask
        (b"\xf1" + sent(b"x")[1:], 1002),  # reserved bits
        (b"\x83" + sent(b"x")[1:], 1002),  # no such kind
        (sent(b"x", Opcode.CONT), 1002),
        (sent(b"x", fin=False) + sent(b"y"), 1002),
    ],
)  # fmt: skip
def test_a_broken_protocol_is_explained_and_ends_it(raw: socket.socket, served: Running, said: bytes, code: int) -> None:
    raw.sendall(said)
    assert struct.pack("!H", code) in rest_of(raw)
    end = time.monotonic() + 20
    while served.studio.clients and time.monotonic() < end:
        time.sleep(0.01)
    assert not served.studio.clients


# --- who is there


def test_a_page_that_goes_is_forgotten(raw: socket.socket, served: Running) -> None:
    while not served.studio.clients:
        time.sleep(0.01)
    (client,) = served.studio.clients
    raw.close()
    end = time.monotonic() + 20
    while served.studio.clients and time.monotonic() < end:
        time.sleep(0.01)
    assert not served.studio.clients
    assert not served.studio.session.audience
    assert client.write is None


def test_a_page_that_answers_no_ping_is_gone(monkeypatch: pytest.MonkeyPatch, folder: TakeFolder) -> None:
    monkeypatch.setattr(wire, "PING", 0.2)
    with Running(Studio(folder)) as served:
        answering = Page(served)
        with connected(served) as silent:
            assert struct.pack("!H", 1011) in rest_of(silent)
        answering.say(m.Open("stand"))
        assert answering.wait("model")["scene"] == "stand"
        answering.close()


def test_pings_are_answered_and_messages_kept_while_the_session_is_busy(page: Page, served: Running) -> None:
    busy = served.studio.session.ask(lambda: time.sleep(3.0))
    time.sleep(0.1)
    page.say(m.Open("stand"))
    assert page.socket.ping().wait(20)
    assert not busy.done(), "nobody waits for the session"
    assert page.wait("model")["scene"] == "stand"


def test_the_end_of_the_server_is_announced(folder: TakeFolder) -> None:
    with Running(Studio(folder)) as served:
        page = Page(served)
        page.wait("takes")
    with pytest.raises(ConnectionClosed) as closed:
        page.wait("nothing of the kind")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
    page.close()

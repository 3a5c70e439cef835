"""What waits for a page: a latest-wins slot for each kind of message, so that a slow page only drops frames."""

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manikin.studio.session import Session

# how many messages wait for a slow page, in addition to the latest of each kind
MAX_WAITING = 64


class Client:
    """One page: the latest message of each kind waits for it; the server never waits for the page."""

    def __init__(self) -> None:
        self.slots: dict[str, str | bytes] = {}
        # writes to the socket; None while the page accepts no more
        self.write: Callable[[bytes], None] | None = None
        self.frames = self.dropped = self.refused = 0
        # what it looks at
        self.session: Session | None = None

    def offer(self, key: str, content: str | bytes) -> None:
        if key in self.slots:
            self.dropped += 1
            # move it to the end of the queue: later messages may depend on it
            del self.slots[key]
        elif len(self.slots) >= MAX_WAITING:
            # drop the oldest message that has no newer version
            del self.slots[next((k for k in self.slots if " " in k), next(iter(self.slots)))]
        self.slots[key] = content

    def flush(self) -> None:
        """Write what waits, as far as the page accepts it."""
        while self.slots and self.write is not None:
            key = next(iter(self.slots))
            content = self.slots.pop(key)
            self.frames += key == "frame"
            self.write(framed(content))


def framed(content: str | bytes) -> bytes:
    """A message as one unmasked websocket frame (RFC 6455, section 5.2)."""
    code, content = (0x82, content) if isinstance(content, bytes) else (0x81, content.encode())
    size = len(content)
    if size < 126:
        return bytes((code, size)) + content
    return (struct.pack("!BBH", code, 126, size) if size < 1 << 16 else struct.pack("!BBQ", code, 127, size)) + content

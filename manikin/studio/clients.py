"""What waits for a page: a latest-wins slot for each kind of message, so that a slow page drops frames and slows nobody."""

import asyncio

from starlette.types import Send

# what waits for a slow page besides the latest of each kind
MAX_WAITING = 64


class Client:
    """One page: the latest of each kind waits for it, and nobody waits for the page."""

    def __init__(self) -> None:
        self.slots: dict[str, str | bytes] = {}
        self.ready = asyncio.Event()
        self.frames = self.dropped = self.refused = 0

    def offer(self, key: str, content: str | bytes) -> None:
        if key in self.slots:
            self.dropped += 1
            # it goes to the end of the line: what came later may depend on it
            del self.slots[key]
        elif len(self.slots) >= MAX_WAITING:
            # the oldest of those that nothing replaces
            del self.slots[next((k for k in self.slots if " " in k), next(iter(self.slots)))]
        self.slots[key] = content
        self.ready.set()

    async def pump(self, send: Send) -> None:
        """Send what waits, as fast as the page takes it."""
        while True:
            await self.ready.wait()
            self.ready.clear()
            while self.slots:
                key = next(iter(self.slots))
                content = self.slots.pop(key)
                if isinstance(content, bytes):
                    self.frames += key == "frame"
                    await send({"type": "websocket.send", "bytes": content})
                else:
                    await send({"type": "websocket.send", "text": content})

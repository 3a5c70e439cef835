"""Ctrl-C: recognised behind other errors, and held back until a loop has finished its step."""

import signal
import threading
from types import FrameType, TracebackType


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: pressed inside a compiled call, it surfaces as a SystemError."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


class Deferred:
    """Inside this context Ctrl-C waits for `check`, so that no step is cut in half; pressed twice it interrupts at once.

    Only the main thread receives signals, and only Python's own handler is replaced: elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.pending = False
        self._active = False

    def __enter__(self) -> "Deferred":
        if threading.current_thread() is threading.main_thread():
            self._active = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._active:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._active:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.pending = True

    def check(self) -> None:
        """Raise KeyboardInterrupt here if Ctrl-C was pressed."""
        if self.pending:
            raise KeyboardInterrupt

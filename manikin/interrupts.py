"""Ctrl-C: recognised behind other errors, held back until a loop has finished its step, and acted on while libraries load."""

import _thread
import os
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any

# the exit code with which shells report a program ended by Ctrl-C
INTERRUPTED = 130


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error.

    Pressed inside a compiled call, it surfaces as a SystemError; ctypes keeps only its name, in the text of its own error.
    """
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        if type(seen).__module__ == "ctypes" and "KeyboardInterrupt" in str(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return seen is not None


# whether Ctrl-C was pressed, as far as the program noticed
_pressed = False


def _raise(number: int, frame: FrameType | None) -> None:
    """As Python's own handler; in the program it takes that one's place."""
    global _pressed
    _pressed = True
    raise KeyboardInterrupt


def _leaves(handler: object) -> bool:
    return isinstance(getattr(handler, "__self__", None), Loading)


def _is_ours() -> bool:
    """Whether this thread, the main one, receives Ctrl-C, and nobody else has put in a handler."""
    handler = signal.getsignal(signal.SIGINT)
    known = handler in (signal.default_int_handler, _raise) or _leaves(handler)
    return known and threading.current_thread() is threading.main_thread()


class Deferred:
    """Inside this context Ctrl-C waits for `check`, so that no step is cut in half; pressed twice it interrupts at once.

    Only the main thread receives signals, and only Python's own handler is replaced: elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.pending = False
        self._active = False
        self._before: Any = None

    def __enter__(self) -> "Deferred":
        self._active = _is_ours()
        if self._active:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.pending = True

    def check(self) -> None:
        """Raise KeyboardInterrupt here if Ctrl-C was pressed."""
        if self.pending:
            raise KeyboardInterrupt


class Loading:
    """Inside this context Ctrl-C ends the program at once, with one line. It may be entered repeatedly.

    For imports, which leave nothing half done: an exception raised inside one may come out as another, or be taken for a
    library that is missing. Afterwards Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self, line: str = "interrupted") -> None:
        self.line = line
        self._active = False
        self._before: Any = None

    def __enter__(self) -> "Loading":
        if _is_ours():
            self._before = signal.signal(signal.SIGINT, self._leave)
            self._active = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._active:
            signal.signal(signal.SIGINT, _raise if _leaves(self._before) else self._before)
            self._active = False

    def _leave(self, number: int, frame: FrameType | None) -> None:
        os.write(2, f"manikin: {' '.join(self.line.split())}\n".encode(errors="replace"))
        os._exit(INTERRUPTED)


# before a command has loaded what it needs, and while Python shuts down: nobody would catch a KeyboardInterrupt
OUTSIDE = Loading()


def hear_again(lost: "sys.UnraisableHookArgs") -> None:
    """A hook for errors that Python can only report, such as those in a callback from a compiler: Ctrl-C is sent again.

    After Ctrl-C other errors are not reported: objects that it left half made complain when they are deleted.
    """
    if lost.exc_type is not KeyboardInterrupt:
        if not _pressed:
            sys.__unraisablehook__(lost)
        return

    def later() -> None:
        time.sleep(0.01)
        _thread.interrupt_main()

    # sent at once it would be lost in this hook itself
    _thread.start_new_thread(later, ())


def guard_start() -> None:
    """Called first of all: enter OUTSIDE if this process is the program `manikin`, and not one that uses the library."""
    # compared with the original words: worker processes too have those of the program in sys.argv
    name, words = sys.argv[0] if sys.argv else "", sys.orig_argv
    if name == "-m":
        ours = "-m" in words and words[words.index("-m") + 1 :][:1] == ["manikin"]
    else:
        ours = name in words and os.path.basename(name) == "manikin"
    if ours:
        OUTSIDE.__enter__()

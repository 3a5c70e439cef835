"""The program `manikin`, also as python -m manikin."""

import atexit
import signal
import sys

from manikin.interrupts import INTERRUPTED, OUTSIDE, hear_again


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded, or while Python shuts down, ends it with one line too."""
    OUTSIDE.__enter__()
    sys.unraisablehook = hear_again
    # registered first, so called last: after that Python can only die of the signal
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        from manikin.cli import main as perform

        perform()
    except KeyboardInterrupt:
        print("manikin: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        OUTSIDE.__enter__()


if __name__ == "__main__":
    main()

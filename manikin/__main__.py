"""The program `manikin`, also as python -m manikin."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it with one line too."""
    try:
        from manikin.cli import main as perform

        perform()
    except KeyboardInterrupt:
        print("manikin: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()

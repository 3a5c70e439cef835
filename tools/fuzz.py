"""Reads many damaged files with all importers, and prints those that are neither read nor refused in one line.

    python tools/fuzz.py                        100,000 cases on all cores
    python tools/fuzz.py --cases 2000 --kinds bvh npz
    python tools/fuzz.py --repeat npz 4711      one case again, its file kept and its traceback shown

Cases are numbered; the same number gives the same file everywhere. A case that crashes the interpreter or hangs ends only its
worker. Ctrl-C prints what was found so far. The exit status is 1 if anything was found.
"""

import argparse
import collections
import multiprocessing
import sys
import tempfile
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import IMPORTERS, Outcome, make, run_case

from manikin.machine import cores

# a case that does not return to the interpreter is ended after so long [s]
HUNG = 90.0


def work(tasks: list[tuple[str, int]], pipe: Connection) -> None:
    """Run cases; say which one begins, then how it ended."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix="manikin-fuzz-") as folder:
        for kind, number in tasks:
            pipe.send((kind, number))
            pipe.send(run_case(kind, number, Path(folder)))
    pipe.close()


class Worker:
    """A process that works through its tasks, and is replaced when a case ends it."""

    def __init__(self, tasks: list[tuple[str, int]]) -> None:
        self.tasks = tasks
        self.start()

    def start(self) -> None:
        self.pipe, other = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("spawn").Process(target=work, args=(self.tasks, other), daemon=True)
        self.process.start()
        other.close()
        self.case: tuple[str, int] | None = None
        self.since = time.monotonic()

    def heard(self) -> Outcome | None:
        """The next outcome; None while a case has only begun."""
        try:
            message: Any = self.pipe.recv()
        except EOFError:
            self.process.join()
            if self.case is None:
                self.tasks = []
                return None
            return self.lost(f"the process ended with status {self.process.exitcode}")
        self.since = time.monotonic()
        if isinstance(message, Outcome):
            self.tasks, self.case = self.tasks[1:], None
            return message
        self.case = message
        return None

    def lost(self, why: str) -> Outcome:
        """Give up the present case, and go on with the next in a new process."""
        kind, number = self.tasks[0]
        self.process.kill()
        self.process.join()
        outcome = Outcome(kind, number, why, time.monotonic() - self.since)
        self.tasks = self.tasks[1:]
        self.start()
        return outcome


def campaign(kinds: list[str], first: int, cases: int, processes: int) -> list[Outcome]:
    """All outcomes that are bad; progress goes to stderr."""
    tasks = [(kinds[k % len(kinds)], first + k // len(kinds)) for k in range(cases)]
    workers = [Worker(tasks[w::processes]) for w in range(processes)]
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    bad: list[Outcome] = []
    began = said = time.monotonic()
    try:
        while any(w.tasks for w in workers):
            busy = [w for w in workers if w.tasks]
            ready = wait([w.pipe for w in busy], timeout=1.0)
            outcomes = [w.heard() for w in busy if w.pipe in ready]
            hung = [w for w in busy if w.case is not None and time.monotonic() - w.since > HUNG]
            outcomes += [w.lost(f"no answer for {HUNG:g} s") for w in hung]
            for outcome in filter(None, outcomes):
                counts[outcome.kind, "found" if outcome.bad else outcome.ended] += 1
                if outcome.bad:
                    bad.append(outcome)
                    print(f"{outcome.kind} {outcome.number}: {outcome.ended}", flush=True)
            if time.monotonic() - said > 10:
                said = time.monotonic()
                done = sum(counts.values())
                print(f"{done} of {cases} cases, {len(bad)} found, {done / (said - began):.0f} a second", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    finally:
        for worker in workers:
            worker.process.kill()
    for kind in kinds:
        row = {what: counts[kind, what] for what in ("read", "refused", "found")}
        print(f"{kind:<5} {sum(row.values()):>7} cases: " + ", ".join(f"{n} {what}" for what, n in row.items()))
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case of each kind")
    parser.add_argument("--kinds", nargs="+", choices=list(IMPORTERS), default=list(IMPORTERS))
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--repeat", nargs=2, metavar=("KIND", "NUMBER"), help="one case again")
    given = parser.parse_args()
    if given.repeat:
        kind, number = given.repeat[0], int(given.repeat[1])
        folder = Path(tempfile.mkdtemp(prefix="manikin-fuzz-"))
        path = make(kind, number, folder)
        print(path)
        IMPORTERS[kind](path, folder)
        return
    sys.exit(1 if campaign(given.kinds, given.first, given.cases, given.processes) else 0)


if __name__ == "__main__":
    main()

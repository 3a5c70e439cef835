"""The machine that we run on: its cores, and the threads of numerical libraries."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

# read by the libraries when they are loaded
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def single_threaded() -> None:
    """One thread for each numerical library, unless the environment says otherwise or numpy is loaded already.

    Our matrices are small: several threads spend their time waiting for each other, and on a busy machine retargeting takes 2
    to 6 times as long. Setting variables needs no dependency, and costs nothing.
    """
    if "numpy" not in sys.modules:
        for variable in _THREADS:
            os.environ.setdefault(variable, "1")


def cores() -> int:
    """How many processes of ours can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_cores(work: Callable[..., T], jobs: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Results of work(*job) for each job, as they are finished. Ctrl-C ends the workers and is passed on: whoever collects
    results keeps those that were finished. `work` is a function of a module."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    # fresh processes: a fork of one that has threads may hang
    with ProcessPoolExecutor(cores(), get_context("spawn"), initializer=_undisturbed) as pool:
        begun = [pool.submit(work, *job) for job in jobs]
        try:
            for done in as_completed(begun):
                yield done.result()
        except (KeyboardInterrupt, GeneratorExit):
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():
                worker.terminate()
            raise


def _undisturbed() -> None:
    """Ctrl-C is for the collecting process; a worker whose collector is gone must not wait for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

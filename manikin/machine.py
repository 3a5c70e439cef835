"""The machine that we run on: its cores, and the threads of numerical libraries."""

import os
import sys

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

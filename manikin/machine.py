"""The machine that we run on."""

import os


def cores() -> int:
    """How many processes of ours can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""Runs every shipped scene and compares its motion with an earlier run, to the last byte.

    python tools/compare_motions.py save FOLDER              runs all scenes, keeps their recordings
    python tools/compare_motions.py compare FOLDER           runs them again; the exit status is 1 if any motion differs
    python tools/compare_motions.py compare FOLDER --scenes lift toss

To compare two commits, `save` on one and `compare` on the other, each with an environment of its own commit.
"""

import argparse
import concurrent.futures
import sys
from pathlib import Path

import numpy as np

import manikin as mk
from manikin.machine import cores
from manikin.scenes.scene import shipped

# what a motion consists of
ARRAYS = ("qpos", "qvel", "ctrl", "xfrc", "eq")


def run_scene(name: str, file: Path) -> str:
    """Run a scene and keep its recording; returns its outcome as text."""
    take = mk.run(mk.load_scene(name))
    mk.save(take, file)
    return "ok" if take.report["ok"] else str(take.report["reason"])


def difference(old: Path, new: Path) -> str:
    """How two recordings differ; empty where they do not."""
    before, after = (np.load(f) for f in (old, new))
    for key in ARRAYS:
        one, two = before[key], after[key]
        if one.shape != two.shape:
            return f"{key}: {one.shape} became {two.shape}"
        if one.tobytes() != two.tobytes():
            return f"{key}: differs by at most {np.abs(one - two).max():.3g}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["save", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenes", nargs="+", choices=list(shipped()), default=list(shipped()))
    parser.add_argument("--processes", type=int, default=cores())
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    label = "" if given.action == "save" else "_again"
    files = {name: given.folder / f"{name}{label}.npz" for name in given.scenes}
    changed = 0
    with concurrent.futures.ProcessPoolExecutor(given.processes) as pool:
        runs = {pool.submit(run_scene, name, file): name for name, file in files.items()}
        for done in concurrent.futures.as_completed(runs):
            name = runs[done]
            line = f"{name:<16} {done.result()}"
            if given.action == "compare":
                found = difference(given.folder / f"{name}.npz", files[name])
                changed += bool(found)
                line += f"; {found or 'the same'}"
            print(line, flush=True)
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()

"""The campaign of scenes that nobody tuned: done, refused, violent or diverged; the tables of docs/untuned.md.

python tools/untuned_scenes.py                              all 64, on all cores: some minutes
python tools/untuned_scenes.py 16 --set control.soft=0.02
python tools/untuned_scenes.py --places                     hands go to places beside the crate, not to its faces
"""

import argparse
import tomllib
from collections import Counter
from typing import Any

from manikin.machine import on_all_cores
from manikin.untuned import Outcome, try_scene, untuned_scene


def outcome_of(number: int, faces: bool, changes: dict[str, Any]) -> tuple[int, Outcome]:
    return number, try_scene(untuned_scene(number, faces), changes)


def main() -> None:
    words = argparse.ArgumentParser(description="Bring crates from low tables onto shelves, as newcomers would write it.")
    words.add_argument("count", nargs="?", type=int, default=64, help="how many scenes (64)")
    words.add_argument("--from", dest="first", type=int, default=0, help="the first number (0)")
    words.add_argument("--places", action="store_true", help="hands go to places beside the crate instead of its faces")
    words.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="change a key of every scene")
    given = words.parse_args()
    changes: dict[str, Any] = {}
    for pair in given.set:
        path, _, value = pair.partition("=")
        changes[path] = tomllib.loads(f"value = {value}")["value"]
    found: Counter[str] = Counter()
    print("| scene | outcome | fastest joint [rad/s] | fastest crate [m/s] | reason |")
    print("|---|---|---|---|---|")
    jobs = [(number, not given.places, changes) for number in range(given.first, given.first + given.count)]
    for number, o in on_all_cores(outcome_of, jobs):
        found[o.kind] += 1
        print(f"| {number} | {o.kind} | {o.joint_speed:.1f} | {o.prop_speed:.2f} | {o.reason} |", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in found.most_common()))


if __name__ == "__main__":
    main()

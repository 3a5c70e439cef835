"""The campaign of scenes that nobody tuned: done, refused, violent or diverged; the table of docs/untuned.md.

Run: python tools/untuned_scenes.py [how many] [--set control.soft=0.02 ...]      (some minutes of computing)
"""

import argparse
import tomllib
from collections import Counter
from typing import Any

from manikin.untuned import try_scene, untuned_scene


def main() -> None:
    words = argparse.ArgumentParser(description="Bring crates from low tables onto shelves, as newcomers would write it.")
    words.add_argument("count", nargs="?", type=int, default=64, help="how many scenes (64)")
    words.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="change a key of every scene")
    given = words.parse_args()
    changes: dict[str, Any] = {}
    for pair in given.set:
        path, _, value = pair.partition("=")
        changes[path] = tomllib.loads(f"value = {value}")["value"]
    found: Counter[str] = Counter()
    print("| scene | outcome | fastest joint [rad/s] | fastest crate [m/s] | reason |")
    print("|---|---|---|---|---|")
    for number in range(given.count):
        o = try_scene(untuned_scene(number), changes)
        found[o.kind] += 1
        print(f"| {number} | {o.kind} | {o.joint_speed:.1f} | {o.prop_speed:.2f} | {o.reason} |", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in found.most_common()))


if __name__ == "__main__":
    main()

"""Retarget motion files and print the table in docs/clips.md. Run: python tools/measure_clips.py FILE[@FPS] ..."""

import sys
import time
from pathlib import Path

import numpy as np

from manikin.characters.human import human
from manikin.clips.source import read_motion
from manikin.motion.chain import chain_of
from manikin.motion.retarget import centre_error, retarget, slips


def main() -> None:
    character = human(skin=False)
    chain = chain_of(character)
    print("| clip | frames | seconds to retarget | centres, mean cm | 95 % cm | stances | slip cm | speed cm/s | limits |")
    print("|---|---|---|---|---|---|---|---|---|")
    for word in sys.argv[1:]:
        name, _, fps = word.partition("@")
        motion = read_motion(Path(name), float(fps) if fps else None)
        start = time.perf_counter()
        result = retarget(motion, character, name)
        took = time.perf_counter() - start
        error = 100 * centre_error(result, character)
        stances = slips(result.clip, character)
        slip = 100 * max((s.distance for s in stances), default=0.0)
        speed = 100 * max((s.speed for s in stances), default=0.0)
        angles = result.clip.angles(chain.joints)
        held = bool((angles >= chain.low - 1e-9).all() and (angles <= chain.high + 1e-9).all())
        print(
            f"| {Path(name).name} | {len(error)} | {took:.1f} | {error.mean():.2f} | {np.percentile(error, 95):.1f} |"
            f" {len(stances)} | {slip:.3f} | {speed:.2f} | {'held' if held else 'BROKEN'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

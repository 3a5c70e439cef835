"""Kim & Pollard 2011: direct control of non-human characters, as claims."""

from manikin.papers.kim2011 import (
    bodies,
    crawl,
    drags,
    faster,
    formulations,
    keyframes,
    lamp,
    lamp_control,
    people,
    rates,
    star,
)

# of the random drags; no test and no tuning uses it
SEED = 20110805
SCENES = (*lamp_control.SCENES, *crawl.SCENES, *star.SCENES)
CLAIMS = (
    *lamp.CLAIMS, *formulations.CLAIMS, *crawl.CLAIMS, *star.CLAIMS, *faster.CLAIMS, *keyframes.CLAIMS, *bodies.CLAIMS,
    *drags.CLAIMS, *rates.CLAIMS, *people.CLAIMS,
)  # fmt: skip

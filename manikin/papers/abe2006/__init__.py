"""Abe & Popovic 2006: every statement of section 5 and of the captions, and the future work of section 6, as claims."""

from manikin.papers.abe2006 import catch, chain, feet, general, lift, pendulum, toss

# of the random balls and tosses; no test and no tuning uses it
SEED = 20060902
SCENES = (*general.SCENES, "stand")
CLAIMS = (
    *general.CLAIMS,
    *chain.CLAIMS,
    *lift.CLAIMS,
    *pendulum.CLAIMS,
    *catch.CLAIMS,
    *toss.CLAIMS,
    *feet.CLAIMS,
)

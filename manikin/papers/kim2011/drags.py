"""Kim & Pollard 2011, section 5.2: random drags of every character, and what limits and flesh made of them."""

from collections.abc import Callable
from functools import partial

from manikin.drags import AFTER, CHARACTERS, SMOOTH, STRUCK, perform, random_drags, stand, summary
from manikin.papers.claims import Claim, Finding, Lab


def _all(lab: Lab) -> dict[str, dict[str, float]]:
    """The campaign, performed once."""
    count = lab.pick(10, 200)
    out = {}
    for model in CHARACTERS:
        still = lab.once(("still", model), partial(stand, model))
        trials = list(random_drags(still, count, lab.seed))
        out[model] = summary(lab.campaign(("drags", model), trials, partial(perform, still)))
    return out


def _worst(key: str, most: float) -> Callable[[Lab], Finding]:
    def measure(lab: Lab) -> Finding:
        seen = {model: numbers[key] for model, numbers in _all(lab).items()}
        worst = max(seen.values())
        return Finding(worst, worst <= most, {**seen, "at_most": most})

    return measure


_DRAGS = "random drags of any bone, up to 1 m and 5 m/s, 200 for each character (10 with --quick), looked at in every step"
CLAIMS: tuple[Claim, ...] = (
    Claim("drags.exact", "the command keeps joint limits and torque limits", "section 5.2", "Eq. 9 and 10 are constraints",
          "of the bound", _DRAGS + "; before any clamp, beside the slack that was told", _worst("outside_bounds", 1e-8)),
    Claim("drags.contradictions", "limits rarely contradict each other", "section 5.2", "not said", "share of updates",
          _DRAGS, _worst("contradictions_share", 0.01)),
    Claim("drags.smooth", "joints stay within their limits in smooth motion", "section 5.2", "joint limits are kept", "rad",
          _DRAGS + "; what follows an impact of 2.5 times the weight is left out", _worst("overshoot_smooth_rad", SMOOTH)),
    Claim("drags.struck", "after an impact joints are hardly beyond them", "section 5.2", "joint limits are kept", "rad",
          _DRAGS, _worst("overshoot_struck_rad", STRUCK)),
    Claim("drags.beyond", "and come back soon", "section 5.2", "joint limits are kept", "s",
          _DRAGS, _worst("beyond_limit_s", AFTER)),
    Claim("drags.flesh", "flesh is hardly ever turned inside out, and then it is said", "section 4", "not said",
          "share of drags", _DRAGS, _worst("inverted_share", 0.01)),
    Claim("drags.finite", "no drag makes the simulation diverge", "section 5.2", "commands stay bounded near singularities",
          "share of drags", _DRAGS, _worst("diverged_share", 0.0)),
)  # fmt: skip

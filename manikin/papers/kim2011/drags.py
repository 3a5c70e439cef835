"""Kim & Pollard 2011, sections 5.1 and 5.2: random drags of every character against limits, flesh and divergence."""

from collections.abc import Callable
from functools import partial

from manikin.drags import AFTER, CHARACTERS, SMOOTH, STRUCK, at_rest, perform, random_drags, summary
from manikin.papers.claims import Change, Claim, Finding, Lab
from manikin.papers.kim2011.bodies import WIDER


def _all(lab: Lab) -> dict[str, dict[str, float]]:
    """The campaign, performed once."""
    count = lab.pick(10, 200)
    out = {}
    for model in CHARACTERS:
        still = lab.once(("still", model, 200.0), partial(at_rest, model))
        trials = list(random_drags(still, count, lab.seed))
        out[model] = summary(lab.campaign(("drags", model), trials, partial(perform, still)))
    return out


def _worst(key: str, most: float) -> Callable[[Lab], Finding]:
    def measure(lab: Lab) -> Finding:
        seen = {model: numbers[key] for model, numbers in _all(lab).items()}
        worst = max(seen.values())
        return Finding(worst, worst <= most, {**seen, "at_most": most})

    return measure


_DRAGS = "random drags of any bone, up to 1 m and 5 m/s, 200 of 1 s for each character (10 with --quick), watched in every step"
_STRUCK = Change(
    "what is beyond its range within 50 ms of an impact counts as struck only where it passes the end after the impact",
    "all that is beyond its range within 50 ms of an impact counts as struck",
    "a joint is pushed while it still is at its end",
)
_ENDS = Change(
    "beyond the limit that control keeps", "beyond the end of the range, 0.01 to 0.04 rad farther out",
    "joints got stops that begin before the end of their range; `drags.stops` is the first of the two again",
)  # fmt: skip
CLAIMS: tuple[Claim, ...] = (
    Claim("drags.exact", "the command keeps joint limits and torque limits as we write them", "section 5.2",
          "where the joint and torque limits are satisfied", "of the bound",
          _DRAGS + "; our form of Eq. 9, and Eq. 10; before any clamp, in addition to the slack that is"
          " reported;"
          " at most 1e-8", _worst("outside_bounds", 1e-8)),
    Claim("drags.printed", "the command keeps Eq. 9 as it is printed", "section 5.1, Eq. 9",
          "less than the acceleration of the parabola", "of the cases",
          _DRAGS + "; a joint within 0.1 rad of its limit that moves towards it, beta 2 mrad (both ours): accelerations"
          " above the"
          " parabola's; none", _worst("printed_broken_share", 0.0), "document"),
    Claim("drags.torque", "torques stay within their limits", "section 5.1, Eq. 10",
          "inequality constraints for the torque limits", "of the limit",
          _DRAGS + "; largest torque relative to its limit, slack included; at most 1 + 1e-6",
          _worst("torque_of_limit", 1 + 1e-6),
          "document"),
    Claim("drags.contradictions", "limits rarely contradict each other", "section 5.2", "not said", "of the updates",
          _DRAGS + "; at most 1 %", _worst("contradictions_share", 0.01)),
    Claim("drags.stops", "dragged at random, joints stay within the limit that control keeps", "section 5.1, Eq. 9",
          "always remain within", "rad",
          _DRAGS + "; impacts included; largest overshoot over the limit in Eq. 9, where a joint's stop begins; at most 1e-3"
          " (1 mrad is ours)", _worst("beyond_kept_rad", SMOOTH), "document"),
    Claim("drags.smooth", "joints stay within their ranges in smooth motion", "section 5.1, Eq. 9", "always remain"
    " within", "rad",
          _DRAGS + "; what follows within 50 ms of a contact force of 2.5 times the weight is left out; at most 1e-3",
          _worst("overshoot_smooth_rad", SMOOTH), "ours", (_STRUCK, _ENDS, WIDER)),
    Claim("drags.struck", "after an impact joints are hardly beyond their ranges", "section 5.1, Eq. 9", "not said",
          "rad", _DRAGS + "; within 50 ms of such an impact; at most 0.05", _worst("overshoot_struck_rad", STRUCK), "ours",
          (_STRUCK, _ENDS, WIDER)),
    Claim("drags.beyond", "and return soon", "section 5.1, Eq. 9", "not said", "s",
          _DRAGS + "; at most 0.05", _worst("beyond_limit_s", AFTER), "ours", (_ENDS, WIDER)),
    Claim("drags.flesh", "flesh is hardly ever turned inside out, and then the run stops and says so", "section 4", "not said",
          "of the drags", _DRAGS + "; at most 1 %", _worst("inverted_share", 0.01)),
    Claim("drags.finite", "no drag makes the simulation diverge", "section 5.2", "robust to such user inputs",
          "of the drags", _DRAGS + "; none", _worst("diverged_share", 0.0), "document"),
)  # fmt: skip

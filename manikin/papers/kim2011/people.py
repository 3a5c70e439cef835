"""Kim & Pollard 2011, section 6: what is said about people who used the system. No number of ours decides it."""

from functools import partial

from manikin.papers.claims import Claim, Finding, Lab

NOBODY = "no person was timed: our scenes are scripts, and their times cannot be compared with a user's"


def untimed(scene: str, lab: Lab) -> Finding:
    """How long the scripted scene takes in its own time, which is not the time that a user needs to make it."""
    report = lab.take(scene).report
    return Finding(None, None, {"script_simulated_s": report["seconds"], "script_ok": bool(report["ok"])}, NOBODY)


def _untimed(name: str, claim: str, printed: str, scene: str) -> Claim:
    return Claim(
        name, claim, "section 6", printed, "min", f"not measured; `{scene}` is a script", partial(untimed, scene), "document"
    )


CLAIMS = (
    _untimed("users.donut", "a novice empties the seesaw", "within a few minutes", "donut_seesaw"),
    _untimed("users.starfish", "trained users create the escape of the starfish", "within a few minutes", "starfish_escape"),
    _untimed("users.lamp", "a proficient user creates the lamp's long sequence", "about 30 minutes", "lamp_stairs"),
)

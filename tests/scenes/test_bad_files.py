"""Scene files that cannot work: one line on the command line that names file and key, and nothing written."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

import manikin as mk
from manikin.errors import SceneError
from manikin.scenes.scene import load_scene, parse_scene, shipped

NAN = float("nan")
BALL = {"shape": "sphere", "size": [0.1], "at": [2, 0, 0.1]}
THROW = "steps.throw.goals.throw.throw"

# scene: what is changed in its file (None leaves the key out), and what must be said
BAD: dict[str, list[tuple[dict[str, Any], str]]] = {
    "catch": [
        ({"tasks.wait.goal": {"meet": {"prop": "bal"}}},
         "tasks.wait.goal.meet.prop: no movable prop is called 'bal'; did you mean 'ball'?"),
        ({"tasks.wait.goal": {"meet": "ball"}}, "tasks.wait.goal.meet: given 'ball': must be a table { key = value }"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball", "plane": -0.4}}},
         "tasks.wait.goal.meet.plane: given -0.4: input should be greater than 0"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball", "plane": NAN}}},
         "tasks.wait.goal.meet.plane: given nan: input should be a finite number"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball", "plane": 500.0}}},
         "tasks.wait.goal.meet.plane: given 500.0: input should be less than or equal to 5"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball", "give": 1.5}}},
         "tasks.wait.goal.meet.give: given 1.5: input should be less than or equal to 1"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball", "seconds": 0.0}}},
         "tasks.wait.goal.meet.seconds: given 0.0: input should be greater than 0"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball", "plan": 0.4}}},
         "tasks.wait.goal.meet.plan: unknown key; did you mean 'plane'?"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball"}, "at": [0, 0, 0]}},
         "tasks.wait.goal: a goal needs exactly one of at, path, spline, hold, clip, meet, throw, along"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball"}, "of": "feet"}}, "tasks.wait.goal: of and carry go with at"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball"}, "scale": True}}, "tasks.wait.goal: scale goes with at and path"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball"}, "frame": 3}}, "tasks.wait.goal: frame goes with clip"),
        ({"tasks.wait.goal": {"meet": {"prop": "ball"}, "brace": {"ball": 0.3}}},
         'tasks.wait.goal: brace goes with of = "feet"'),
        ({"tasks.wait.of": ["hand_l", "hand_r"]}, "tasks.wait.goal.meet: is for one point, or for an orientation with axis"),
        ({"tasks.gaze.goal": {"meet": {"prop": "ball"}}},
         "tasks.gaze.goal.meet: is for one point, or for an orientation with axis"),
        ({"tasks.palm.axis": None}, "tasks.palm.goal.meet: is for one point, or for an orientation with axis"),
        ({"tasks.palm.axis": [0, 0, 0]}, "tasks.palm: axis must not be zero"),
        ({"props.ball.fixed": True}, "props.ball: velocity is for a prop that can move, and this one is fixed"),
        ({"props.ball.velocity": [NAN, 0, 0]}, "props.ball.velocity.0: given nan: input should be a finite number"),
        ({"props.ball.velocity": 5.0}, "props.ball.velocity: given 5.0: must be a list [...]"),
        ({"props.ball.velocity": [1000000.0, 0, 0]},
         "props.ball.velocity.0: given 1000000.0: input should be less than or equal to 1000"),
        ({"props.ball.grip": {"force": -1.0}}, "props.ball.grip.force: given -1.0: input should be greater than 0"),
        ({"props.ball.grip": {"force": NAN}}, "props.ball.grip.force: given nan: input should be a finite number"),
        ({"props.ball.grip": {"softness": 9.0}},
         "props.ball.grip.softness: given 9.0: input should be less than or equal to 0.5"),
        ({"props.ball.grip": {"softnes": 0.1}}, "props.ball.grip.softnes: unknown key; did you mean 'softness'?"),
        ({"props.ball.grip": 4500.0}, "props.ball.grip: given 4500.0: must be a table { key = value }"),
        ({"steps.caught.when": {"touch": {"hand": "ball"}}},
         "steps.caught.when.touch: no hand is called 'hand'; did you mean 'hand_r'?"),
        ({"steps.caught.when": {"touch": {"hand_r": "bal"}}},
         "steps.caught.when.touch: no movable prop is called 'bal'; did you mean 'ball'?"),
        ({"steps.caught.when": {"touch": "hand_r"}}, "steps.2.when.touch: given 'hand_r': must be a table { key = value }"),
        ({"steps.caught.when": {"touch": ["hand_r", "ball"]}},
         "steps.2.when.touch: given ['hand_r', 'ball']: must be a table { key = value }"),
        ({"steps.caught.when": {"touch": {}}}, "steps.2.when.touch: given {}: must not be empty"),
        ({"steps.caught.when": []}, "steps.2.when: given []: must be 'start', or a table { key = value }"),
        ({"steps.caught.when": 3}, "steps.2.when: given 3: must be 'start', or a table { key = value }"),
        ({"steps.caught.when": {"tuch": {"hand_r": "ball"}}}, "steps.2.when.tuch: unknown key; did you mean 'touch'?"),
        ({"steps.caught.when": {"after": NAN}}, "steps.2.when.after: given nan: input should be a finite number"),
        ({"steps.match.when": {"arriving": {"prop": "bal"}, "seconds": 0.1}},
         "steps.match.when.arriving.prop: no movable prop is called 'bal'; did you mean 'ball'?"),
        ({"steps.match.when": {"arriving": {"prop": "ball"}}}, "steps.1.when: arriving and seconds go together"),
        ({"steps.match.when": {"seconds": 0.1}}, "steps.1.when: arriving and seconds go together"),
        ({"steps.match.when": {"arriving": "ball", "seconds": 0.1}},
         "steps.1.when.arriving: given 'ball': must be a table { key = value }"),
        ({"steps.match.when": {"arriving": {"prop": "ball", "give": 0.2}, "seconds": 0.1}},
         "steps.1.when.arriving.give: unknown key"),
        ({"steps.match.when": {"arriving": {"prp": "ball"}, "seconds": 0.1}},
         "steps.1.when.arriving.prp: unknown key; did you mean 'prop'?"),
        ({"steps.match.goals": {"mach": {"meet": {"prop": "ball"}}}},
         "steps.match.goals: no task is called 'mach'; did you mean 'match'?"),
        ({"steps.match.goals": {"match": {"met": {"prop": "ball"}}}},
         "steps.1.goals.match.met: unknown key; did you mean 'meet'?"),
        ({"steps.match.goals": {"match": {"meet": {"prop": "hand_r"}}}},
         "steps.match.goals.match.meet.prop: no movable prop is called 'hand_r'"),
        ({"steps.match.goals": {"match": []}}, "steps.match.goals.match: needs 3 numbers, 0 were given"),
        ({"steps.match.goals": {"match": 3}}, "steps.1.goals.match: given 3: must be a table { key = value }"),
        ({"steps.match.off": ["wiat"]}, "steps.match.off: no task is called 'wiat'; did you mean 'wait'?"),
        ({"steps.match.off": "wait"}, "steps.1.off: given 'wait': must be a list [...]"),
        ({"steps.match.timeout": -1.0}, "steps.1.timeout: given -1.0: input should be greater than 0"),
        ({"steps.match.otherwise": "mised"}, "steps.match.otherwise: no step is called 'mised'; did you mean 'missed'?"),
        ({"steps.match.tune": {"match": {"frequncy": 1.0}}},
         "steps.1.tune.match.frequncy: unknown key; did you mean 'frequency'?"),
        ({"steps.match.tune": {"match": {"smoothing": 1.0}}},
         "steps.match.tune.match.smoothing: law 'track' has no such setting"),
        ({"steps.match.tune": {"palm": {"max_force": 10.0}}},
         "steps.match.tune.palm.max_force: is for measures 'point' and 'com'"),
        ({"steps.caught.grasp": {"hand_r": "bal"}},
         "steps.caught.grasp: no movable prop is called 'bal'; did you mean 'ball'?"),
        ({"steps.caught.grasp": {"hand_q": "ball"}}, "steps.caught.grasp: no hand is called 'hand_q'; did you mean 'hand_r'?"),
        ({"steps.caught.name": ""}, "steps.2.name: given '': string should have at least 1 character"),
        ({"steps": {}}, "steps: given {}: must be a list [...]"),
    ],
    "toss": [
        ({f"{THROW}.prop": "bal"}, "steps.throw.goals.throw.throw.prop: no movable prop is called 'bal'; did you mean 'ball'?"),
        ({f"{THROW}.release": None}, "steps.3.goals.throw.throw.release: is missing"),
        ({f"{THROW}.release": [0, 0]}, "steps.3.goals.throw.throw.release.2: is missing"),
        ({f"{THROW}.release": [0, 0, NAN]}, "steps.3.goals.throw.throw.release.2: given nan: input should be a finite number"),
        ({f"{THROW}.target": None}, "steps.3.goals.throw.throw: throw needs exactly one of velocity, target"),
        ({f"{THROW}.target": [2.0, 0.3, 0.0]},
         "steps.3.goals.throw.throw.target: given [2.0, 0.3, 0.0]: must have at most 2, not 3"),
        ({f"{THROW}.target": "wall"}, "steps.3.goals.throw.throw.target: given 'wall': must be a list [...]"),
        ({f"{THROW}.velocity": [1, 0, 1]}, "steps.3.goals.throw.throw: throw needs exactly one of velocity, target"),
        ({f"{THROW}.target": None, f"{THROW}.velocity": [0, 0, 0]},
         "steps.3.goals.throw.throw: velocity must not be zero: nothing is thrown without speed"),
        ({f"{THROW}.target": None, f"{THROW}.velocity": [1000000000.0, 0, 0]},
         "steps.3.goals.throw.throw.velocity.0: given 1000000000.0: input should be less than or equal to 1000"),
        ({f"{THROW}.windup": 0}, "steps.3.goals.throw.throw.windup: given 0: input should be greater than 0"),
        ({f"{THROW}.wind_up": 0.5}, "steps.3.goals.throw.throw.wind_up: unknown key; did you mean 'windup'?"),
        ({THROW: "ball"}, "steps.3.goals.throw.throw: given 'ball': must be a table { key = value }"),
        ({"steps.throw.goals.throw": {}},
         "steps.3.goals.throw: a goal needs exactly one of at, path, spline, hold, clip, meet, throw, along"),
        ({"steps.throw.goals.throw.scale": True}, "steps.3.goals.throw: scale goes with at and path"),
        ({"tasks.throw.of": ["ball", "hand_r"]},
         "steps.throw.goals.throw.throw: is for one point, the middle of what is thrown: of = 'ball'"),
        ({"tasks.throw.of": "hand_r"},
         "steps.throw.goals.throw.throw: is for one point, the middle of what is thrown: of = 'ball'"),
        ({"tasks.throw.measure": "com", "tasks.throw.of": None},
         "steps.throw.goals.throw.throw: is for one point, the middle of what is thrown: of = 'ball'"),
        ({"tasks.throw.law": "hold"}, "steps.throw.goals.throw: law 'hold' stays where it is switched on and takes no goal"),
        ({"steps.throw.goals.palm.along": "thro"},
         "steps.throw.goals.palm.along: 'thro' is not given a throw in this step; did you mean 'throw'?"),
        ({"steps.throw.goals.palm": {"along": ["throw"]}},
         "steps.3.goals.palm.along: given ['throw']: input should be a valid string"),
        ({"steps.throw.goals.palm": {"alog": "throw"}}, "steps.3.goals.palm.alog: unknown key; did you mean 'along'?"),
        ({"steps.throw.goals.gaze": {"along": "throw"}}, "steps.throw.goals.gaze.along: is for an orientation with axis"),
        ({"steps.throw.goals.follow": {"along": "throw"}}, "steps.throw.goals.follow.along: is for an orientation with axis"),
        ({"tasks.palm.goal": {"along": "throw"}},
         "tasks.palm.goal.along: is for a step in which another task is given a throw"),
        ({"steps.thrown.when": {"thrown": "thow"}},
         "steps.thrown.when.thrown: no task is called 'thow'; did you mean 'throw'?"),
        ({"steps.thrown.when": {"thrown": "back"}}, "steps.thrown.when.thrown: 'back' is not given a throw before this step"),
        ({"steps.thrown.when": {"thrwn": "throw"}}, "steps.4.when.thrwn: unknown key; did you mean 'thrown'?"),
        ({"steps.match.when": {"thrown": "throw"}}, "steps.match.when.thrown: 'throw' is not given a throw before this step"),
        ({"steps.thrown.release": ["hnd_r"]}, "steps.thrown.release: no hand is called 'hnd_r'; did you mean 'hand_r'?"),
        ({"steps.thrown.release": "hand_r"}, "steps.4.release: given 'hand_r': must be a list [...]"),
        ({"steps.landed.when": {"landed": "bal"}},
         "steps.landed.when.landed: no movable prop is called 'bal'; did you mean 'ball'?"),
    ],
    "lift": [
        ({"tasks.balance.goal.brace": {"bx": 0.3}},
         "tasks.balance.goal.brace: no movable prop is called 'bx'; did you mean 'box'?"),
        ({"tasks.balance.goal.brace": {"box": NAN}},
         "tasks.balance.goal.brace.box: given nan: input should be a finite number"),
        ({"tasks.balance.goal.brace": {"box": 0.3, "bag": 0.2}},
         "tasks.balance.goal.brace: given {box = 0.3, bag = 0.2}: must have at most 1, not 2"),
        ({"tasks.balance.goal.brace": ["box"]}, "tasks.balance.goal.brace: given ['box']: must be a table { key = value }"),
        ({"tasks.balance.goal.brce": {"box": 0.3}}, "tasks.balance.goal.brce: unknown key; did you mean 'brace'?"),
        ({"tasks.balance.goal.of": None}, 'tasks.balance.goal: brace goes with of = "feet"'),
        ({"steps.reach.goals.hands": {"of": "feet", "at": [[0, 0, 1], [0, 0, 1]], "brace": {"box": 0.3}}},
         "steps.reach.goals.hands.brace: is for measure 'com'"),
        ({"steps.reach.goals.gaze": {"of": "feet", "at": [0, 0, 1], "brace": {"box": 0.3}}},
         "steps.reach.goals.gaze.brace: is for measure 'com'"),
        ({"props.box.fixed": True}, "tasks.balance.goal.brace: 'box' is fixed and cannot move (none allowed here)"),
        ({"tasks.balance.axes": ["z"], "tasks.balance.goal.at": [0.0, 0.0]},
         "tasks.balance.goal.at: needs 1 points [x, y, z] from the middle between the feet"),
        ({"tasks.balance.axes": []}, "tasks.balance.axes: given []: must not be empty"),
        ({"tasks.balance.axes": ["q"]}, "tasks.balance.axes.0: given 'q': not one of the allowed values"),
        ({"tasks.balance.axes": ["x", "x"]}, "tasks.balance: axes names 'x' twice"),
        ({"tasks.hands.of": ["hand_l", "hand_l"]}, "tasks.hands: of names 'hand_l' twice"),
        ({"steps.lift.goals.hands.carry": "bx"},
         "steps.lift.goals.hands.carry: no movable prop is called 'bx'; did you mean 'box'?"),
        ({"tasks.level.goal": [0, 0, 0]}, "tasks.level.goal: given [0, 0, 0]: needs a direction [x, y, z] other than zero"),
        ({"tasks.balance.goal": {"carry": "box", "at": [0, 0, 0]}},
         "tasks.balance.goal.carry: is for measure 'point': the hands that carry"),
    ],
    "chain": [
        ({"props.chain.links": 1}, "props.chain.links: given 1: input should be greater than or equal to 2"),
        ({"props.chain.links": 2.5}, "props.chain.links: given 2.5: input should be a valid integer"),
        ({"props.chain.link": 10}, "props.chain.link: unknown key; did you mean 'links'?"),
        ({"props.chain.damping": -0.1}, "props.chain.damping: given -0.1: input should be greater than or equal to 0"),
        ({"props.chain.size": [0.007, -1.0]}, "props.chain.size.1: given -1.0: input should be greater than 0"),
        ({"props.chain.size": [0.5, 0.9]}, "props.chain.size: 10 links of 0.09 m must be longer than thick"),
        ({"props.chain.fixed": True}, "joined.hand_r: no movable prop, or link of one, is called 'chain' (none allowed here)"),
        ({"joined": {"hand_r": "chan"}}, "joined.hand_r: no prop is called 'chan'; did you mean 'chain'?"),
        ({"joined": {"hand_r": "chain_10"}},
         "joined.hand_r: no movable prop, or link of one, is called 'chain_10'; did you mean 'chain_1'?"),
        ({"joined": {"hand_q": "chain"}}, "joined.hand_q: no hand is called 'hand_q'; did you mean 'hand_r'?"),
        ({"joined": {}}, "props.chain.at: is missing (only props joined to a hand need none)"),
        ({"props.chain_3": BALL}, "props.chain_3: that name is taken by the prop 'chain'"),
        ({"props.chain_end": BALL}, "props.chain_end: that name is taken by the prop 'chain'"),
        ({"props.hand_l_palm": BALL}, "props.hand_l_palm: that name is taken by a part of the character"),
        ({"props.world": BALL}, "props.world: that name is taken by the scene"),
        ({"props.feet": BALL}, "props.feet: that name is taken by the scene"),
        ({"props.root": BALL}, "props.root: that name is taken by a part of the character"),
        ({"tugs.mouse.body": "chan_end"}, "tugs.mouse.body: no site or body is called 'chan_end'; did you mean 'chain_end'?"),
        ({"tugs.mouse.body": None}, "tugs.mouse.body: is missing"),
        ({"tugs.mouse.body": "world"}, "tugs.mouse.body: no site or body is called 'world'"),
        ({"tugs.mouse.path": []}, "tugs.mouse: path needs two or more rows [time, fx, fy, fz], times increasing"),
        ({"tugs.mouse.path": [[0, 0, 0, 0], [0, 1, 0, 0]]},
         "tugs.mouse: path needs two or more rows [time, fx, fy, fz], times increasing"),
        ({"tugs.mouse.path": [[0, 0, 0], [1, 1, 0]]}, "tugs.mouse.path.0.3: is missing"),
        ({"tugs.mouse.path": [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0]]},
         "tugs.mouse.path.0: given [0, 0, 0, 0, 0]: must have at most 4, not 5"),
        ({"tugs.mouse.path": [[0, 0, 0, 0], [1, NAN, 0, 0]]},
         "tugs.mouse.path.1.1: given nan: input should be a finite number"),
        ({"tugs.mouse.path": "up"}, "tugs.mouse.path: given 'up': must be a list [...]"),
        ({"tugs.mouse": 5}, "tugs.mouse: given 5: must be a table { key = value }"),
        ({"tugs.mouse.path": [[0, 0, 0, 0], [1, 1e+300, 0, 0]]},
         "tugs.mouse.path.1.1: given 1e+300: input should be less than or equal to 1000000"),
    ],
    "pendulum": [
        ({"props.bob.size": [0.3, 0.2]}, "props.bob: size: a pendulum must be longer than its bob's radius"),
        ({"joined.hand_l": "bob"}, "joined: two hands can be joined to a chain only; let them grasp 'bob'"),
        ({"steps.draw.goals.hand.path": []},
         "steps.draw.goals.hand: path needs two or more rows [time, numbers...] of one length, times increasing"),
        ({"steps.draw.goals.hand.path": [[], []]},
         "steps.draw.goals.hand: path needs two or more rows [time, numbers...] of one length, times increasing"),
        ({"steps.draw.goals.hand.path": [[0, 0, 0, 1], [1, 0, 0, NAN]]},
         "steps.0.goals.hand.path.1.3: given nan: input should be a finite number"),
        ({"steps.draw.goals.hand.path": [[0, 0, 1], [1, 0, 1]]}, "steps.draw.goals.hand: needs 3 numbers, 2 were given"),
        ({"steps.draw.goals.hand.path": [[0, 0, 0, 1], [1, 0, 0, 1]], "steps.draw.goals.hand.of": "feet"},
         "steps.0.goals.hand: of and carry go with at"),
        ({"tasks.gaze.goal.at": []}, "tasks.gaze.goal.at: needs 1 points [x, y, z] in the frame of 'bob'"),
        ({"knobs": {"props.bob.mas": [1, 2, "kg"]}}, "knobs.props.bob.mas: no key is called 'mas'; did you mean 'mass'?"),
        ({"knobs": {"props.bb.mass": [1, 2, "kg"]}}, "knobs.props.bb.mass: no key is called 'bb'; did you mean 'bob'?"),
        ({"knobs": {"props.bob.mass.x": [1, 2, "kg"]}}, "knobs.props.bob.mass.x: no key is called 'x' (none allowed here)"),
        ({"knobs": {"props.bob": [1, 2, "kg"]}}, "knobs.props.bob: a range is for a number, and there is none"),
        ({"knobs": {"props.bob.unknown": [0, 1, ""]}}, "knobs.props.bob.unknown: a range is for a number"),
        ({"knobs": {"props.bob.mass": [2, 1, "kg"]}},
         "knobs.props.bob.mass: given 2, 1: the second must be greater than the first"),
    ],
    "stand": [
        ({"tasks.trunk.goal": []}, "tasks.trunk.goal: needs 3 numbers, 0 were given"),
        ({"tasks.trunk.measure": "momentum"}, "tasks.trunk: axis is for measures 'orientation' and 'look'"),
        ({"props.ball": BALL | {"colour": [2.0, 0, 0]}},
         "props.ball.colour.0: given 2.0: input should be less than or equal to 1"),
        ({"props.a b": BALL}, "props: given 'a b': a name is made of letters, digits, _ and -"),
        ({"props.": BALL}, "props: given '': a name is made of letters, digits, _ and -"),
    ],
}  # fmt: skip


def broken(scene: str, changes: dict[str, Any]) -> str:
    """The file of a shipped scene with keys changed, by hand as it were."""
    raw = tomllib.loads(shipped()[scene].read_text(encoding="utf-8"))
    for path, value in changes.items():
        *way, last = path.split(".")
        here: Any = raw
        for part in way:
            here = next(s for s in here if s["name"] == part) if isinstance(here, list) else here.setdefault(part, {})
        if value is None:
            del here[last]
        else:
            here[last] = value
    return tomli_w.dumps(raw)


@pytest.mark.parametrize(
    ("scene", "changes", "message"),
    [(scene, changes, message) for scene, rows in BAD.items() for changes, message in rows],
    ids=[f"{scene}: {message}" for scene, rows in BAD.items() for _, message in rows],
)
def test_a_bad_file_is_refused_in_one_line(
    command: Callable[..., Any], tmp_path: Path, scene: str, changes: dict[str, Any], message: str
) -> None:
    (tmp_path / "mine.toml").write_text(broken(scene, changes), encoding="utf-8")
    outcome = command("run", "mine.toml", "--seconds", 0.1, "--out", "mine.npz")
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith(f"manikin: mine.toml: {message}")
    assert [f.name for f in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize("scene", ["catch", "chain"])
def test_the_file_itself_is_good(command: Callable[..., Any], tmp_path: Path, scene: str) -> None:
    (tmp_path / "mine.toml").write_text(broken(scene, {}), encoding="utf-8")
    assert command("run", "mine.toml", "--seconds", 0.01).code == 0


def test_names_are_unlike_those_of_other_props_whatever_their_order() -> None:
    chain = {"props.ball_2": BALL, "props.ball": {"shape": "chain", "size": [0.01, 1.0], "links": 4, "at": [2, 0, 2]}}
    with pytest.raises(SceneError, match=r"props\.ball: the name 'ball_2' of its part is taken by the prop 'ball_2'"):
        mk.build_run(load_scene("stand", chain))


def test_where_a_scene_was_read_makes_no_difference_to_it() -> None:
    scene = load_scene("lift")
    again = parse_scene(scene.model_dump(exclude_defaults=True), "elsewhere")
    assert scene == again
    assert scene != load_scene("lift", {"seconds": 3})
    assert (scene.where, again.where) == ("lift.toml", "elsewhere")


def test_seconds_given_to_a_run_are_checked_too() -> None:
    with pytest.raises(SceneError, match=r"stand\.toml: seconds: given -1\.0: input should be greater than 0"):
        mk.run(load_scene("stand"), seconds=-1.0)


def test_a_step_that_is_jumped_to_proves_nothing() -> None:
    """A miss that falls back to the step of the catch is no catch, and one to that of the release no throw."""
    late = {"steps.wait.timeout": 0.002, "seconds": 0.05}
    caught = mk.run(load_scene("catch", late | {"steps.wait.otherwise": "caught"})).report
    assert caught["caught"] is False
    thrown = mk.run(load_scene("toss", late | {"steps.wait.otherwise": "thrown"})).report
    assert thrown["release_speed_error"] is None

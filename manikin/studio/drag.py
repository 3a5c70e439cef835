"""Dragging: what a pointer does to the tasks of a run. The forces of pushes and springs are in `pulls`.

A part that a task moves has that task's goal moved; any other part of a character gets a task of its own for a while; props
are pulled by a damped spring. Nothing is teleported: everything goes through the physics.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from manikin.errors import InputError, did_you_mean
from manikin.loop import Run
from manikin.physics.world import World
from manikin.spatial import quat_multiply
from manikin.studio.cast import Cast
from manikin.studio.messages import Grab, Mode
from manikin.studio.names import DRAG, LEAN, STUDIO, TURN, WAITING
from manikin.tasks.goals import Aim, Fixed, Goal
from manikin.tasks.laws import Hold, Stabilize
from manikin.tasks.measures import CentreOfMass, Measure, Orientation, Points, Posture
from manikin.tasks.task import Task

Array = NDArray[np.float64]

# the largest force on a body part and on the centre of mass [N], in addition to supporting the weight
PART_FORCE, LEAN_FORCE = 300.0, 400.0
# a goal follows the pointer no faster than a quick hand moves [m/s]: a pointer can jump, and would yank things with it
HAND_SPEED = 5.0
# priority of drags under direct control: pins come first, drags second (Kim & Pollard 2011, section 5.3)
SECOND = 1
# while something is dragged, tasks of the scene come after that: balance first, everything else below
_BALANCE, _REST = SECOND + 1, SECOND + 2


def waiting_tasks(direct: bool = False) -> list[Task]:
    """The tasks that the studio adds to those of a run. direct: for characters under direct control.

    Those are limited by their joint torques, not by a force.
    """
    nobody = Points(np.array([1]), np.zeros((1, 3)))
    if direct:
        return [Task(name, nobody, _quick_law(), SECOND, active=False) for name in WAITING]
    return [
        Task(DRAG, nobody, _part_law(), 0, max_force=PART_FORCE, active=False),
        Task(TURN, nobody, _rotation_law(), 1, active=False),
        Task(LEAN, nobody, Stabilize(1.0, 0.05, 0.1), 0, max_force=LEAN_FORCE, active=False),
    ]


def _part_law() -> Stabilize:
    return Stabilize(1.5, 0.03, 0.2)


def _rotation_law() -> Stabilize:
    # 45 degrees, as a scene file gives it
    return Stabilize(1.5, 0.05, float(np.deg2rad(45.0)))


def _quick_law() -> Stabilize:
    """For small, strong characters that must be able to jump."""
    return Stabilize(3.0, 0.02, 0.5)


def _fresh(task: Task, law: Stabilize) -> Stabilize:
    """The law with which a waiting task starts."""
    return law if task.max_force is not None else _quick_law()


@dataclass(frozen=True)
class Dragged:
    """A goal some of whose rows follow a pointer; the others stay as they are."""

    base: Goal | None
    first: int
    value: Array  # (k,)
    size: int  # rows of the whole goal

    def at(self, world: World, moving: bool = True) -> Aim:
        aim = Aim(np.zeros(self.size)) if self.base is None else self.base.at(world, moving)
        rows = slice(self.first, self.first + len(self.value))
        value = np.array(aim.value)
        value[rows] = self.value
        rates = [np.array(r) if isinstance(r, np.ndarray) else r for r in (aim.rate, aim.acceleration)]
        for rate in rates:
            if isinstance(rate, np.ndarray):
                rate[rows] = 0.0
        return Aim(value, *rates)


@dataclass
class Grip:
    """What the pointer holds. body: number, -1 for a centre of mass; task: the one whose goal it moves, "" for none."""

    target: str
    mode: Mode
    body: int
    point: Array  # (3,) in the body's frame
    goal: Array  # (3,) world; where the pointer is, or on its way there
    task: str = ""
    first: int = 0  # row of the task where it begins
    axes: tuple[int, ...] = (0, 1, 2)
    shift: Array = field(default_factory=lambda: np.zeros(3))  # from the grabbed point to the task's own, body frame
    start: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))  # the body's orientation when it was grabbed
    turn: Array | None = None  # (4,) rotation since then
    rivals: tuple[str, ...] = ()  # tasks of the same character that could pull against the drag
    resting: tuple[str, ...] = ()  # rivals that are switched off meanwhile
    # priorities to return to, of tasks that come after the drag meanwhile
    yielding: dict[str, int] = field(default_factory=dict)
    before: Goal | Array | None = None  # the goal, or the place of a Hold law, to return to
    pointer: Array = field(default_factory=lambda: np.zeros(3))  # (3,) world, where the goal is to go

    def __post_init__(self) -> None:
        self.pointer = self.goal.copy()

    def follow(self, seconds: float) -> None:
        """The goal moves towards the pointer, no faster than a hand."""
        left = self.pointer - self.goal
        far, most = float(np.linalg.norm(left)), HAND_SPEED * seconds
        self.goal = self.pointer.copy() if far <= most else self.goal + left * (most / far)


# --- markers and handles


def markers(run: Run) -> list[tuple[str, Task, int, int, Array]]:
    """Goals that can be dragged: (name, task, body, first row, place). They are places that do not move on their own."""
    out = []
    for task in run.tasks:
        if task.name in STUDIO or not isinstance(task.measure, Points):
            continue
        value = goal_value(run.world, task)
        if value is None:
            continue
        for k, body in enumerate(task.measure.bodies.tolist()):
            out.append((f"{task.name}/{k}", task, body, 3 * k, value[3 * k : 3 * k + 3]))
    return out


def goal_value(world: World, task: Task) -> Array | None:
    """The present goal of a task; None where it has none."""
    if isinstance(task.law, Hold):
        return task.law.place
    return None if task.goal is None else np.asarray(task.goal.at(world, moving=False).value)


def com_of(world: World, bodies: list[int]) -> Array:
    """Centre of mass (3,) [m] of bodies."""
    mass = world.model.body_mass[bodies]
    return np.asarray(mass @ world.data.xipos[bodies] / mass.sum())


# --- taking hold, moving, letting go


def grab(run: Run, cast: Cast, message: Grab) -> Grip:
    """Take hold of a body, a marker or a centre of mass; its goal is its present place until the pointer moves."""
    if message.mode == "goal":
        return _grab_goal(run, message)
    if message.mode == "com":
        return _grab_com(run, cast, message)
    world = run.world
    target, point = cast.hold(world, message.target, np.array(message.point))
    body = world.body(target)
    part_of, _ = cast.of(body)
    allowed = modes_of(cast, body)
    if message.mode not in allowed:
        raise InputError(f"grab.mode: '{message.target}' cannot be grabbed by '{message.mode}'{did_you_mean('', allowed)}")
    place = world.data.xpos[body] + world.data.xmat[body].reshape(3, 3) @ point
    grip = Grip(target, message.mode, body, point, place, start=world.data.xquat[body].copy())
    if message.mode == "task" and part_of == "character":
        _grab_part(run, cast, grip)
    return grip


def modes_of(cast: Cast, body: int) -> tuple[Mode, ...]:
    """The modes in which a body can be grabbed, the plain drag first."""
    part_of, _ = cast.of(body)
    if part_of == "character":
        return ("task", "push")
    return ("spring", "push") if part_of == "prop" else ()


def _grab_part(run: Run, cast: Cast, grip: Grip) -> None:
    """A hand that a task moves has its goal moved; any other part gets the waiting task."""
    for task in sorted(run.tasks, key=lambda t: t.priority):
        measure = task.measure
        own = task.name in WAITING
        if not task.active or own or not isinstance(measure, Points) or grip.body not in measure.bodies:
            continue
        k = measure.bodies.tolist().index(grip.body)
        grip.task, grip.first = task.name, 3 * k
        # the task moves its own point of the body, the pointer the grabbed one
        grip.shift = measure.offsets[k] - grip.point
        grip.before = _goal_before(task)
        return
    task = by_name(run, DRAG)
    task.measure = Points(np.array([grip.body]), grip.point[None])
    task.law = _fresh(task, _part_law())
    task.aim_at(Fixed(grip.goal.copy()))
    grip.task = DRAG
    if task.max_force is None:
        # under direct control priorities alone decide which task yields
        return
    # a task that holds the trunk carries everything attached to it
    task.max_force = PART_FORCE + _weight(run.world, cast, grip.body)
    _, root = cast.of(grip.body)
    mine = cast.characters[root]
    grip.rivals = tuple(
        t.name
        for t in run.tasks
        if t.name not in WAITING and isinstance(t.measure, Points) and np.isin(t.measure.bodies, mine).any()
    )


def yield_to(run: Run, cast: Cast, grip: Grip) -> None:
    """Under direct control: what is left of the script must not hold the character back. Its tasks come after the drag; pins,
    and orientations and angles that the scene puts first, stay above it.

    A closed loop keeps its shape first: dragged out of shape it would be crushed rather than roll.
    """
    mine = cast.characters[grip.target if grip.body < 0 else cast.of(grip.body)[1]]
    skeletons = getattr(run.controller, "skeletons", ())
    if any(s.loops for s in skeletons if int(run.world.model.dof_bodyid[s.root[0]]) in mine):
        return
    for task in run.tasks:
        if task.name in (*STUDIO, grip.task) or not _concerns(run.world, task.measure, mine):
            continue
        if task.priority < SECOND and isinstance(task.measure, Orientation | Posture):
            continue
        below = _BALANCE if isinstance(task.measure, CentreOfMass) else _REST
        if task.priority < below:
            grip.yielding[task.name] = task.priority
            task.priority = below


def _concerns(world: World, measure: Measure, bodies: list[int]) -> bool:
    """Whether a task is about these bodies."""
    if isinstance(measure, CentreOfMass):
        return bool(measure.masses[bodies].any())
    if isinstance(measure, Posture):
        return bool(np.isin(world.model.dof_bodyid[measure.dofs], bodies).any())
    return bool(np.isin(getattr(measure, "bodies", bodies), bodies).any())


def _weight(world: World, cast: Cast, body: int) -> float:
    _, root = cast.of(body)
    return float(world.model.body_mass[cast.characters[root]].sum() * np.linalg.norm(world.model.opt.gravity))


def _grab_goal(run: Run, message: Grab) -> Grip:
    for name, task, body, first, place in markers(run):
        if name == message.target:
            before = _goal_before(task)
            return Grip(name, "goal", body, np.zeros(3), place.copy(), task.name, first, before=before)
    raise InputError(f"no goal is called '{message.target}'{did_you_mean(message.target, [m[0] for m in markers(run)])}")


def _grab_com(run: Run, cast: Cast, message: Grab) -> Grip:
    """The centre of mass: moves the goal of the task that controls it, or uses the waiting task."""
    if message.target not in cast.characters:
        raise InputError(f"no character is called '{message.target}'{did_you_mean(message.target, cast.characters)}")
    world, bodies = run.world, cast.characters[message.target]
    grip = Grip(message.target, "com", -1, np.zeros(3), com_of(world, bodies))
    for task in run.tasks:
        measure = task.measure
        mine = isinstance(measure, CentreOfMass) and bool(measure.masses[bodies].any())
        if mine and task.active and task.name != LEAN and not isinstance(task.law, Hold):
            assert isinstance(measure, CentreOfMass)
            grip.task, grip.axes, grip.before = task.name, measure.axes, _goal_before(task)
            return grip
    masses = np.zeros(world.model.nbody)
    masses[bodies] = world.model.body_mass[bodies]
    task = by_name(run, LEAN)
    task.measure = CentreOfMass(masses, np.zeros_like(masses), (0, 1, 2))
    task.law = _fresh(task, Stabilize(1.0, 0.05, 0.1))
    task.aim_at(Fixed(grip.goal.copy()))
    grip.task = LEAN
    return grip


def _goal_before(task: Task) -> Goal | Array | None:
    if isinstance(task.law, Hold):
        return None if task.law.place is None else task.law.place.copy()
    return task.goal.base if isinstance(task.goal, Dragged) else task.goal


def hold_on(run: Run, grip: Grip) -> None:
    """Before each step: the grabbed goal follows the pointer, also when the script has just set another one."""
    if not grip.task:
        return
    task = by_name(run, grip.task)
    if grip.task in (DRAG, LEAN):
        if not np.array_equal(goal_value(run.world, task), grip.goal):  # type: ignore[arg-type]
            task.goal = Fixed(grip.goal.copy())
        _rest(run, grip)
    else:
        _move_goal(run, task, grip)
        # a dragged goal does not count as reached: no step of the script, such as a grasp, may follow from it
        task.error = float("inf")
    rotation = by_name(run, TURN)
    if grip.turn is not None and grip.body >= 0 and grip.mode == "task":
        wanted = quat_multiply(grip.turn, grip.start)
        if not rotation.active:
            rotation.measure, rotation.law = Orientation(np.array([grip.body])), _rotation_law()
            rotation.aim_at(Fixed(wanted))
        rotation.goal = Fixed(wanted)


def _rest(run: Run, grip: Grip) -> None:
    """Tasks of empty hands are off while another part is dragged: the two would pull against each other."""
    for name in grip.rivals:
        task = by_name(run, name)
        if task.active and not run.world.held:
            task.active = False
            grip.resting = (*grip.resting, name) if name not in grip.resting else grip.resting
        if name in grip.resting:
            # and the script must wait
            task.error = float("inf")


def _move_goal(run: Run, task: Task, grip: Grip) -> None:
    value = grip.goal[list(grip.axes)]
    if grip.shift.any():
        value = value + run.world.data.xmat[grip.body].reshape(3, 3) @ grip.shift
    rows = slice(grip.first, grip.first + len(value))
    if isinstance(task.law, Hold):
        if task.law.place is None:
            task.law.place = task.measure.evaluate(run.world.dynamics()).value.copy()
        if not np.array_equal(task.law.place[rows], value):
            task.law.place = task.law.place.copy()
            task.law.place[rows] = value
        return
    if not isinstance(task.goal, Dragged):
        # the script has set a new goal: that is the one to return to
        grip.before = task.goal
        size = grip.first + len(value) if task.goal is None else len(task.goal.at(run.world, False).value)
        task.goal = Dragged(task.goal, grip.first, value, size)
    elif not np.array_equal(task.goal.value, value):
        task.goal = replace(task.goal, value=value)


def let_go(run: Run, grip: Grip) -> None:
    """A dragged part goes back to its job; a dragged goal stays where it was put."""
    by_name(run, TURN).active = False
    for name, priority in grip.yielding.items():
        task = by_name(run, name)
        # unless it was changed by hand meanwhile
        if task.priority in (_BALANCE, _REST):
            task.priority = priority
    if not grip.task:
        return
    for name in grip.resting:
        rested = by_name(run, name)
        rested.active = True
        rested.law.restart()
    task = by_name(run, grip.task)
    if grip.task in (DRAG, LEAN):
        task.active = False
        return
    if grip.mode == "goal":
        # also when time was paused since the pointer moved
        grip.goal = grip.pointer.copy()
        _move_goal(run, task, grip)
    # unknown until the controller has evaluated it
    task.error = float("inf")
    if isinstance(task.law, Hold):
        if grip.mode != "goal":
            task.law.place = None if grip.before is None else np.asarray(grip.before)
    elif isinstance(task.goal, Dragged):
        task.goal = Fixed(goal_value(run.world, task)) if grip.mode == "goal" else task.goal.base  # type: ignore[arg-type]


def by_name(run: Run, name: str) -> Task:
    return next(t for t in run.tasks if t.name == name)

"""Knobs: which keys of a scene can be changed while it runs, and how. The others start the scene again.

A change of the model is recorded number by number (`changes`), so that plain MuJoCo can follow it. Scenes under direct control
have knobs of their own: what the controller minimises, contact joints, compliance. Choices, including those between
texts, are sent by number.
"""

from dataclasses import replace
from typing import get_args

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct, Formulation
from manikin.errors import InputError, did_you_mean
from manikin.loop import Run
from manikin.scenes.scene import Scene, value_at
from manikin.scenes.schema_knobs import knob_title
from manikin.studio.cast import Cast
from manikin.studio.drag import Dragged
from manikin.studio.messages import KnobInfo
from manikin.tasks.goals import Braced, Goal
from manikin.tasks.measures import CentreOfMass
from manikin.tasks.task import Task

Array = NDArray[np.float64]
_LAW_KEYS = ("frequency", "smoothing")
# settings of a Direct controller: values by number, and their labels
_DIRECT: dict[str, tuple[tuple[str | bool, ...], tuple[str, ...]]] = {
    "control.formulation": (get_args(Formulation), get_args(Formulation)),
    "control.contact_joints": ((False, True), ("off", "on")),
    "control.compliant": ((False, True), ("off", "on")),
}


class KnobBox:
    """The knobs of a run. turned: {path: value} of the live ones that differ from the scene."""

    def __init__(self, scene: Scene, run: Run, cast: Cast) -> None:
        self.scene, self.run, self.cast = scene, run, cast
        self.turned: dict[str, float] = {}
        self.direct = run.controller if isinstance(run.controller, Direct) else None
        self.choices = {} if self.direct is None else _DIRECT
        model = run.world.model
        self._mass, self._inertia = model.body_mass.copy(), model.body_inertia.copy()

    def infos(self) -> tuple[KnobInfo, ...]:
        """Every knob that the scene declares, and the choices of direct control."""
        declared = []
        for path, knob in self.scene.knobs.items():
            low, high = self._ends(path)
            title, names = knob_title(path, knob), knob.choices or ()
            declared.append(KnobInfo(path, low, high, knob.unit, self.value(path), self.is_live(path), names, title))
        return tuple(declared) + tuple(
            KnobInfo(path, 0.0, len(names) - 1.0, "", self.value(path), True, names, knob_title(path))
            for path, (_, names) in self.choices.items()
        )

    def _ends(self, path: str) -> tuple[float, float]:
        """The lowest and the highest value, or number of a choice."""
        knob = self.scene.knobs[path]
        return (0.0, len(knob.choices) - 1.0) if knob.choices else knob.range or (0.0, 1.0)

    def value(self, path: str) -> float | None:
        """The present value of a knob."""
        if path in self.choices:
            # a step of the script may have set it too
            return float(self.choices[path][0].index(getattr(self.direct, _key(path))))
        return self.turned[path] if path in self.turned else self._given(path)

    def _given(self, path: str) -> float | None:
        """Its value in the scene."""
        if path in self.choices:
            return float(self.choices[path][0].index(value_at(self.scene, path)))
        texts = self._texts(path)
        if texts:
            given = value_at(self.scene, path)
            return float(texts.index(given)) if given in texts else None
        return _number(self.scene, path)

    def _texts(self, path: str) -> tuple[str, ...]:
        """The texts that a knob chooses between; none where it is a slider."""
        return self.scene.knobs[path].choices or () if path in self.scene.knobs else ()

    def in_scene(self, path: str, value: float) -> float | str:
        """The value as a scene file has it."""
        texts = self._texts(path)
        return texts[int(value)] if texts else value

    def changes(self) -> dict[str, object]:
        """{path: value}, as in a scene file, of the knobs that were changed."""
        out: dict[str, object] = {}
        for path, value in self.turned.items():
            out[path] = self.choices[path][0][int(value)] if path in self.choices else value
        return out

    def check(self, path: str, value: float) -> None:
        """Check that a knob is declared and a value within its range."""
        names = self.choices[path][1] if path in self.choices else self._texts(path)
        if names:
            if value not in range(len(names)):
                allowed = ", ".join(f"{k} {name}" for k, name in enumerate(names))
                raise InputError(f"knob.value: '{path}' given {value:g} (allowed: {allowed})")
            return
        if path not in self.scene.knobs:
            raise InputError(f"knob.path: no knob is called '{path}'{did_you_mean(path, [*self.scene.knobs, *self.choices])}")
        (low, high), unit = self._ends(path), self.scene.knobs[path].unit
        if not low <= value <= high:
            raise InputError(f"knob.value: '{path}' given {value:g} (allowed: {low:g} to {high:g} {unit})")

    def is_live(self, path: str) -> bool:
        """Whether it can be changed while the scene runs."""
        if path in self.choices:
            return True
        if self._texts(path):
            return False
        table, _, rest = path.partition(".")
        name, _, key = rest.rpartition(".")
        if table == "props":
            return key == "mass" and name in self.cast.props
        if table == "tasks":
            task = self._task(name)
            return task is not None and (
                (key == "max_force" and task.max_force is not None) or (key in _LAW_KEYS and hasattr(task.law, key))
            )  # fmt: skip
        return False

    def turn_to(self, turned: dict[str, float]) -> None:
        """Set all live knobs to their values at another moment."""
        for path in {*self.turned, *turned}:
            value = turned[path] if path in turned else self._given(path)
            if value is not None and value != self.value(path):
                self.turn(path, value)
        self.turned = dict(turned)

    def turn(self, path: str, value: float) -> None:
        """Set a live knob; edits of the model are recorded."""
        if not self.is_live(path):
            raise InputError(f"knob.path: '{path}' cannot be changed while the scene runs")
        table, _, rest = path.partition(".")
        name, _, key = rest.rpartition(".")
        if path in self.choices:
            setattr(self.direct, key, self.choices[path][0][int(value)])
        elif table == "props":
            self._weigh(name, value / float(_number(self.scene, path) or 1.0))
        else:
            task = self._task(name)
            assert task is not None
            if key == "max_force":
                task.max_force = value
            else:
                setattr(task.law, key, value)
        self.turned[path] = value

    def _task(self, name: str) -> Task | None:
        return next((t for t in self.run.tasks if t.name == name), None)

    def _weigh(self, prop: str, factor: float) -> None:
        """Change the mass of a prop, with its inertia and the load that balance tasks count on."""
        world, bodies = self.run.world, self.cast.props[prop]
        model, recorder = world.model, self.run.recorder
        model.body_mass[bodies], model.body_inertia[bodies] = factor * self._mass[bodies], factor * self._inertia[bodies]
        # mj_setConst moves the anchors of ball joints to their places in the zero pose: restore and record them
        anchors = model.eq_data.copy()
        mujoco.mj_setConst(model, mujoco.MjData(model))
        model.eq_data[:] = anchors
        world.switched.extend(e for e in range(model.neq) if e not in world.switched)
        if recorder is not None:
            for body in bodies:
                recorder.changed("body_mass", body, float(model.body_mass[body]))
                for axis in range(3):
                    recorder.changed("body_inertia", [body, axis], float(model.body_inertia[body, axis]))
        for task in self.run.tasks:
            if isinstance(task.measure, CentreOfMass):
                self._feel(task.measure, task.name, bodies)
                task.goal = _braced(task.goal, task.measure)

    def _feel(self, measure: CentreOfMass, task: str, bodies: list[int]) -> None:
        """How much of a load counts in the balance, up to the fraction that the task allows."""
        if not measure.carried[bodies].any():
            return
        most = self.scene.tasks[task].carried * measure.masses.sum() if task in self.scene.tasks else np.inf
        measure.carried[bodies] = np.minimum(self.run.world.model.body_mass[bodies], most)


def _braced(goal: Goal | None, measure: CentreOfMass) -> Goal | None:
    """Goals that brace for a load now brace for the new one."""
    if isinstance(goal, Dragged):
        return replace(goal, base=_braced(goal.base, measure))
    if not isinstance(goal, Braced):
        return goal
    load = measure.carried[goal.body]
    return replace(goal, fraction=float(load / (measure.masses.sum() + load)))


def _key(path: str) -> str:
    return path.rpartition(".")[2]


def _number(scene: Scene, path: str) -> float | None:
    """The scene's value at a knob's path."""
    value = value_at(scene, path)
    return None if value is None else float(value)

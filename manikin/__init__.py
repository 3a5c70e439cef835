"""Manikin: tell a character what to do, and get motion that obeys physics, ready for Blender.

>>> import manikin as mk
>>> take = mk.run(mk.load_scene("lift"), seconds=4)
>>> mk.save(take, "lift.glb")

All names are listed in docs/python.md.
"""

from manikin.interrupts import guard_start

guard_start()

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manikin.machine import single_threaded
from manikin.renderer import choose_renderer

choose_renderer()
single_threaded()

__version__ = "0.1.0"

# the module each name comes from; loaded when first used, so that importing manikin stays light
_PUBLIC = {
    # scenes
    "run": "manikin.api",
    "Failed": "manikin.api",
    "Scene": "manikin.scenes.scene",
    "load_scene": "manikin.scenes.scene",
    "build_run": "manikin.scenes.build",
    "Take": "manikin.export.save",
    "save": "manikin.export.save",
    # the stage
    "stage": "manikin.library",
    "human": "manikin.characters.human",
    "creature": "manikin.characters.creatures",
    "PropShape": "manikin.scenes.stage",
    "World": "manikin.physics.world",
    "Push": "manikin.physics.world",
    "grasp": "manikin.physics.attach",
    "release": "manikin.physics.attach",
    # tasks
    "Task": "manikin.tasks.task",
    "points": "manikin.tasks.named",
    "orientation": "manikin.tasks.named",
    "direction": "manikin.tasks.named",
    "look": "manikin.tasks.named",
    "centre_of_mass": "manikin.tasks.named",
    "momentum": "manikin.tasks.named",
    "spin": "manikin.tasks.named",
    "posture": "manikin.tasks.named",
    "Stabilize": "manikin.tasks.laws",
    "Track": "manikin.tasks.laws",
    "Reach": "manikin.tasks.laws",
    "Hold": "manikin.tasks.laws",
    "nearest": "manikin.library",
    "Fixed": "manikin.tasks.goals",
    "Path": "manikin.tasks.goals",
    "on_body": "manikin.tasks.named",
    # control
    "Prioritized": "manikin.controllers.prioritized",
    "Direct": "manikin.controllers.direct",
    "skeletons": "manikin.library",
    "Run": "manikin.loop",
    # clips and recordings
    "Clip": "manikin.clips.clip",
    "load_clip": "manikin.clips.clip",
    "save_clip": "manikin.clips.clip",
    "read_clip": "manikin.motion.retarget",
    "Recording": "manikin.recording",
    "load_recording": "manikin.recording",
    "replay": "manikin.playback",
    # the rest
    "studio": "manikin.studio",
    "ManikinError": "manikin.errors",
    "InputError": "manikin.errors",
    "RunError": "manikin.errors",
}
__all__ = ["__version__", *_PUBLIC]

if TYPE_CHECKING:
    from manikin.api import Failed as Failed
    from manikin.api import run as run
    from manikin.characters.creatures import creature as creature
    from manikin.characters.human import human as human
    from manikin.clips.clip import Clip as Clip
    from manikin.clips.clip import load_clip as load_clip
    from manikin.clips.clip import save_clip as save_clip
    from manikin.controllers.direct import Direct as Direct
    from manikin.controllers.prioritized import Prioritized as Prioritized
    from manikin.errors import InputError as InputError
    from manikin.errors import ManikinError as ManikinError
    from manikin.errors import RunError as RunError
    from manikin.export.save import Take as Take
    from manikin.export.save import save as save
    from manikin.library import nearest as nearest
    from manikin.library import skeletons as skeletons
    from manikin.library import stage as stage
    from manikin.loop import Run as Run
    from manikin.motion.retarget import read_clip as read_clip
    from manikin.physics.attach import grasp as grasp
    from manikin.physics.attach import release as release
    from manikin.physics.world import Push as Push
    from manikin.physics.world import World as World
    from manikin.playback import replay as replay
    from manikin.recording import Recording as Recording
    from manikin.recording import load_recording as load_recording
    from manikin.scenes.build import build_run as build_run
    from manikin.scenes.scene import Scene as Scene
    from manikin.scenes.scene import load_scene as load_scene
    from manikin.scenes.stage import PropShape as PropShape
    from manikin.studio import studio as studio
    from manikin.tasks.goals import Fixed as Fixed
    from manikin.tasks.goals import Path as Path
    from manikin.tasks.laws import Hold as Hold
    from manikin.tasks.laws import Reach as Reach
    from manikin.tasks.laws import Stabilize as Stabilize
    from manikin.tasks.laws import Track as Track
    from manikin.tasks.named import centre_of_mass as centre_of_mass
    from manikin.tasks.named import direction as direction
    from manikin.tasks.named import look as look
    from manikin.tasks.named import momentum as momentum
    from manikin.tasks.named import on_body as on_body
    from manikin.tasks.named import orientation as orientation
    from manikin.tasks.named import points as points
    from manikin.tasks.named import posture as posture
    from manikin.tasks.named import spin as spin
    from manikin.tasks.task import Task as Task


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'manikin' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

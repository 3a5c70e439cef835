"""Manikin: give a character a job; get the motion, physically true, ready for Blender.

>>> import manikin as mk
>>> take = mk.run(mk.load_scene("lift"), seconds=4)
>>> mk.save(take, "lift.glb")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manikin.renderer import choose_renderer

choose_renderer()

__version__ = "0.1.0"

# name: the module it comes from; loaded when first used, so that importing manikin stays light
_PUBLIC = {
    "Failed": "manikin.api",
    "run": "manikin.api",
    "Take": "manikin.export.save",
    "save": "manikin.export.save",
    "Scene": "manikin.scenes.scene",
    "load_scene": "manikin.scenes.scene",
    "build_run": "manikin.scenes.build",
    "Run": "manikin.loop",
    "Recording": "manikin.recording",
    "load_recording": "manikin.recording",
    "replay": "manikin.playback",
    "World": "manikin.physics.world",
    "Push": "manikin.physics.world",
    "Prioritized": "manikin.controllers.prioritized",
    "Task": "manikin.tasks.task",
    "human": "manikin.characters.human",
    "Clip": "manikin.clips.clip",
    "load_clip": "manikin.clips.clip",
    "studio": "manikin.studio",
    "ManikinError": "manikin.errors",
}
__all__ = ["__version__", *_PUBLIC]

if TYPE_CHECKING:
    from manikin.api import Failed as Failed
    from manikin.api import run as run
    from manikin.characters.human import human as human
    from manikin.clips.clip import Clip as Clip
    from manikin.clips.clip import load_clip as load_clip
    from manikin.controllers.prioritized import Prioritized as Prioritized
    from manikin.errors import ManikinError as ManikinError
    from manikin.export.save import Take as Take
    from manikin.export.save import save as save
    from manikin.loop import Run as Run
    from manikin.physics.world import Push as Push
    from manikin.physics.world import World as World
    from manikin.playback import replay as replay
    from manikin.recording import Recording as Recording
    from manikin.recording import load_recording as load_recording
    from manikin.scenes.build import build_run as build_run
    from manikin.scenes.scene import Scene as Scene
    from manikin.scenes.scene import load_scene as load_scene
    from manikin.studio import studio as studio
    from manikin.tasks.task import Task as Task


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'manikin' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

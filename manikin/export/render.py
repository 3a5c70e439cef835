"""Pictures from a recording: frames, video, contact sheet. One camera taste for all."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.errors import OutputError
from manikin.export.soft import draw_soft, soft_surfaces
from manikin.recording import Recording
from manikin.scenes.schema_world import CameraSpec

Image = NDArray[np.uint8]


def check_drawing() -> None:
    """Raise OutputError, with what to do, when no picture can be drawn on this machine."""
    try:
        # a context alone says little: a window system that is not there fails only when something is drawn
        renderer = mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 8, 8)
    except Exception as error:
        raise OutputError(
            "no picture can be drawn here: no EGL or OSMesa library was found; on Debian install libegl1 and"
            f" libgl1-mesa-dri, or leave out .png and .mp4 ({type(error).__name__})"
        ) from error
    renderer.close()


@dataclass(frozen=True)
class View:
    """azimuth from the character's front, elevation [deg], distance [m], point looked at [m]."""

    azimuth: float = 38.0
    elevation: float = -9.0
    distance: float = 3.9
    at: tuple[float, float, float] = (0.25, 0.0, 0.85)


class Painter:
    """Draws the frames of one recording. Close it, or use it in a with statement."""

    def __init__(self, recording: Recording, width: int, height: int, fine: bool = False) -> None:
        self.recording = recording
        self.model = mujoco.MjModel.from_xml_string(recording.mjcf)
        # the shadow map dominates software rendering: sharp for stills, small for video
        self.model.vis.quality.shadowsize = 8192 if fine else 2048
        self.model.vis.quality.offsamples = 8 if fine else 4
        self.data = mujoco.MjData(self.model)
        self.soft = soft_surfaces(self.model)
        check_drawing()
        self.renderer = mujoco.Renderer(self.model, height, width)

    def __enter__(self) -> "Painter":
        return self

    def __exit__(self, *_: object) -> None:
        self.renderer.close()

    def draw(self, frame: int, view: View) -> Image:
        """One frame (height, width, 3)."""
        self.data.qpos[:] = self.recording.qpos[frame]
        mujoco.mj_forward(self.model, self.data)
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.azimuth = 180 + view.azimuth
        camera.elevation, camera.distance = view.elevation, view.distance
        camera.lookat[:] = view.at
        options = mujoco.MjvOption()
        # shells and props only: collision capsules and sites are not for looking at
        options.geomgroup[:] = [1, 1, 1, 0, 0, 0]
        options.sitegroup[:] = 0
        self.renderer.update_scene(self.data, camera, options)
        draw_soft(self.renderer.scene, self.soft, self.data)
        _let_light_through(self.renderer.scene)
        self.renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 1
        return self.renderer.render().copy()


def _let_light_through(scene: mujoco.MjvScene) -> None:
    """Glass throws no shadow: MuJoCo draws none of what only decorates."""
    for geom in scene.geoms[: scene.ngeom]:
        if geom.rgba[3] < 1:
            geom.category = mujoco.mjtCatBit.mjCAT_DECOR


def view_of(recording: Recording) -> View:
    """The camera that the recorded scene asks for."""
    camera = CameraSpec.model_validate(tomllib.loads(recording.meta["scene"]).get("camera", {}))
    return View(camera.azimuth, camera.elevation, camera.distance, camera.at)


def moments(recording: Recording, count: int) -> list[int]:
    """Frames that tell the story: evenly spread in time, first and last included."""
    return [int(i) for i in np.linspace(0, len(recording.time) - 1, count).round()]


def contact_sheet(recording: Recording, count: int = 8, width: int = 300, height: int = 420, sides: bool = True) -> Image:
    """Frames side by side: seen from the scene's camera, and below from the side."""
    view = view_of(recording)
    views = [view, View(90.0, view.elevation, view.distance, view.at)] if sides else [view]
    with Painter(recording, width, height, fine=True) as painter:
        rows = [np.hstack([painter.draw(f, v) for f in moments(recording, count)]) for v in views]
    return np.vstack(rows)


def frames(recording: Recording, fps: float, width: int, height: int) -> Iterator[Image]:
    """All frames of a film at a constant rate."""
    view = view_of(recording)
    times = np.arange(0, recording.time[-1] + 1e-9, 1 / fps)
    nearest = np.abs(recording.time[None] - times[:, None]).argmin(axis=1)
    with Painter(recording, width, height) as painter:
        for frame in nearest:
            yield painter.draw(int(frame), view)

"""Pictures from a recording: single frames and contact sheets. One camera taste for all."""

import tomllib
from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin import renderer
from manikin.errors import OutputError
from manikin.export.framing import DRAWN, Array, View, keep_in_view, outline
from manikin.export.soft import draw_soft, soft_surfaces
from manikin.recording import Recording
from manikin.scenes.schema_world import CameraSpec

Image = NDArray[np.uint8]

# lamps hang this far [m] from what is looked at; they shine in parallel, so it is as bright from anywhere
LAMPS = 6.0


def check_drawing() -> None:
    """Raise OutputError, with what to do, when no picture can be drawn on this machine."""
    try:
        # a context alone proves little: a missing window system fails only when something is drawn
        probe = mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 8, 8)
    except Exception as error:
        why = renderer.trouble or f"on Debian install libegl1 and libgl1-mesa-dri ({type(error).__name__}: {error})"
        raise OutputError(f"no picture can be drawn here: {why}; or leave out .png and .mp4") from error
    probe.close()


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

    def follow(self, frames: Sequence[int], view: View, calm: float = 0.0) -> list[View]:
        """Where to look from in each frame, with the characters in the picture (see framing.keep_in_view)."""
        aspect = self.renderer.width / self.renderer.height
        return keep_in_view([self._outline(f) for f in frames], view, float(self.model.vis.global_.fovy), aspect, calm)

    def _outline(self, frame: int) -> Array:
        self.data.qpos[:] = self.recording.qpos[frame]
        mujoco.mj_kinematics(self.model, self.data)
        if self.soft:
            mujoco.mj_flex(self.model, self.data)
        names = [body for bodies in self.recording.meta.get("characters", {}).values() for body in bodies]
        bodies = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name) for name in names]
        return outline(self.model, self.data, bodies, self.soft)

    def draw(self, frame: int, view: View) -> Image:
        """One frame (height, width, 3)."""
        self.data.qpos[:] = self.recording.qpos[frame]
        # shadows are drawn around where the lamps point, and stray dots where they end: lamps go along with the view
        self.model.light_pos[:] = np.array(view.at) - LAMPS * self.model.light_dir
        mujoco.mj_forward(self.model, self.data)
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.azimuth = 180 + view.azimuth
        camera.elevation, camera.distance = view.elevation, view.distance
        camera.lookat[:] = view.at
        options = mujoco.MjvOption()
        # shells and props only: collision capsules and sites are not for looking at
        options.geomgroup[:] = [group < DRAWN for group in range(6)]
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
    shown = moments(recording, count)
    with Painter(recording, width, height, fine=True) as painter:
        rows = [np.hstack([painter.draw(f, v) for f, v in zip(shown, painter.follow(shown, view))]) for view in views]
    return np.vstack(rows)

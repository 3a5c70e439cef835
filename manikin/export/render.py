"""Pictures from a recording: single frames and contact sheets, all with the same camera style."""

import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin import renderer
from manikin.errors import OutputError
from manikin.export.framing import DRAWN, Array, View, framed, keep_in_view, outline, within_reach
from manikin.export.soft import draw_soft, soft_surfaces
from manikin.interrupts import Deferred
from manikin.playback import cast
from manikin.recording import Recording
from manikin.scenes.schema_world import CameraSpec

Image = NDArray[np.uint8]

# lights are this far [m] from what is looked at; their rays are parallel, so the distance does not change the brightness
LAMPS = 6.0
# the map of shadows reaches at least this far [m] around what is looked at
SHADOWS = 3.2
# moments of a recording that decide how it is framed
SAMPLES = 40


def check_drawing() -> None:
    """Raise OutputError, with what to do, when no picture can be drawn on this machine."""
    # a window system that cannot be reached only warns
    with Deferred() as interrupt, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            # a context alone proves little: a missing window system fails only when something is drawn
            probe = mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 8, 8)
        except Exception as error:
            why = renderer.trouble or f"on Debian install libegl1 and libgl1-mesa-dri ({type(error).__name__}: {error})"
            if any(w.category.__name__ == "GLFWError" for w in warned):
                why = "the display cannot be used; set MUJOCO_GL=egl"
            raise OutputError(f"no picture can be drawn here: {why}; or leave out .png and .mp4") from error
        probe.close()
    interrupt.check()


class Painter:
    """Draws the frames of one recording. Close it, or use it in a with statement."""

    def __init__(self, recording: Recording, width: int, height: int, fine: bool = False) -> None:
        self.recording = recording
        self.model = mujoco.MjModel.from_xml_string(recording.mjcf)
        # the shadow map dominates software rendering: sharp for stills, small for video
        self.model.vis.quality.shadowsize = 8192 if fine else 2048
        self.model.vis.quality.offsamples = 8 if fine else 4
        # other people's models may leave less room for pictures
        self.model.vis.global_.offwidth = max(self.model.vis.global_.offwidth, width)
        self.model.vis.global_.offheight = max(self.model.vis.global_.offheight, height)
        # where the map ends it leaves stray dots on the floor
        self.model.vis.map.shadowclip = max(1.0, SHADOWS / self.model.stat.extent)
        self.data = mujoco.MjData(self.model)
        self.soft = soft_surfaces(self.model)
        check_drawing()
        with Deferred() as interrupt:
            self.renderer = mujoco.Renderer(self.model, height, width)
        interrupt.check()

    def __enter__(self) -> "Painter":
        return self

    def __exit__(self, *_: object) -> None:
        # half closed, it would complain when it is collected
        with Deferred() as interrupt:
            self.renderer.close()
        interrupt.check()

    def follow(self, frames: Sequence[int], view: View, calm: float = 0.0) -> list[View]:
        """The view of each frame, with the characters in the picture (see framing.keep_in_view)."""
        aspect = self.renderer.width / self.renderer.height
        return keep_in_view([self._outline(f) for f in frames], view, float(self.model.vis.global_.fovy), aspect, calm)

    def _outline(self, frame: int) -> Array:
        _pose(self.model, self.data, self.recording, frame)
        return outline(self.model, self.data, _actors(self.model, self.recording), self.soft)

    def draw(self, frame: int, view: View) -> Image:
        """One frame (height, width, 3)."""
        self.data.qpos[:] = self.recording.qpos[frame]
        # shadows are drawn around where the lights point, with stray dots where their map ends: lights follow the view
        self.model.light_pos[:] = np.array(view.at) - LAMPS * self.model.light_dir
        mujoco.mj_forward(self.model, self.data)
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.azimuth = 180 + view.azimuth
        camera.elevation, camera.distance = view.elevation, view.distance
        camera.lookat[:] = view.at
        options = mujoco.MjvOption()
        # shells and props only, no collision capsules and no sites
        options.geomgroup[:] = [group < DRAWN for group in range(6)]
        options.sitegroup[:] = 0
        self.renderer.update_scene(self.data, camera, options)
        draw_soft(self.renderer.scene, self.soft, self.data)
        _let_light_through(self.renderer.scene)
        self.renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 1
        return self.renderer.render().copy()


def _let_light_through(scene: mujoco.MjvScene) -> None:
    """Glass casts no shadow: MuJoCo draws none for decoration."""
    for geom in scene.geoms[: scene.ngeom]:
        if geom.rgba[3] < 1:
            geom.category = mujoco.mjtCatBit.mjCAT_DECOR


def _pose(model: mujoco.MjModel, data: mujoco.MjData, recording: Recording, frame: int) -> None:
    data.qpos[:] = recording.qpos[frame]
    mujoco.mj_kinematics(model, data)
    if model.nflex:
        mujoco.mj_flex(model, data)


def _actors(model: mujoco.MjModel, recording: Recording) -> list[int]:
    """The bodies of all characters."""
    return [body for bodies in cast(recording, model).values() for body in bodies]


def view_of(recording: Recording, aspect: float = 4 / 3, azimuth: float | None = None) -> View:
    """The camera that the recorded scene asks for, or one that suits the size and motion of its characters.

    azimuth [deg]: another side to look from.
    """
    camera = CameraSpec.model_validate(tomllib.loads(recording.meta["scene"]).get("camera", {}))
    view = View(camera.azimuth if azimuth is None else azimuth, camera.elevation)
    if camera.distance is None or camera.at is None:
        view = _framed(recording, view, aspect)
    return replace(view, distance=camera.distance or view.distance, at=camera.at or view.at)


def _framed(recording: Recording, view: View, aspect: float) -> View:
    """Suits the characters at some moments of a recording, and the props near them."""
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data, actors, soft = mujoco.MjData(model), _actors(model, recording), soft_surfaces(model)
    props = sorted(set(range(model.nbody)) - set(actors))
    outlines = []
    for frame in moments(recording, min(len(recording.time), SAMPLES)):
        _pose(model, data, recording, frame)
        characters = outline(model, data, actors, soft)
        outlines.append(np.vstack([characters, within_reach(characters, outline(model, data, props, []))]))
    return framed(outlines, view, float(model.vis.global_.fovy), aspect)


def moments(recording: Recording, count: int) -> list[int]:
    """Frames evenly spread in time, first and last included."""
    return [int(i) for i in np.linspace(0, len(recording.time) - 1, count).round()]


def contact_sheet(recording: Recording, count: int = 8, width: int = 300, height: int = 420, sides: bool = True) -> Image:
    """Frames side by side: seen from the scene's camera, and below from the side."""
    aspect = width / height
    views = [view_of(recording, aspect), view_of(recording, aspect, 90.0)][: 2 if sides else 1]
    shown = moments(recording, count)
    with Painter(recording, width, height, fine=True) as painter:
        rows = [np.hstack([painter.draw(f, v) for f, v in zip(shown, painter.follow(shown, view))]) for view in views]
    return np.vstack(rows)

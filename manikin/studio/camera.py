"""Where the page looks from when a scene is opened."""

from dataclasses import replace

import numpy as np

from manikin.export.framing import View, framed, outline, within_reach
from manikin.studio import messages as m
from manikin.studio.live import Live

# the page's own opening angle [deg], a usual window, and how much of it the characters fill: there is room to move in
FOVY, ASPECT, ROOM = 35.0, 1.5, 0.65


def camera_info(live: Live) -> m.CameraInfo:
    """The scene's camera, or one that suits the characters as they are at the start, and the props near them."""
    camera = live.scene.camera
    view = View(camera.azimuth, camera.elevation)
    if camera.distance is None or camera.at is None:
        view = framed([_shown(live)], view, FOVY, ASPECT, ROOM)
    view = replace(view, distance=camera.distance or view.distance, at=camera.at or view.at)
    return m.CameraInfo(view.azimuth, view.elevation, view.distance, view.at)


def _shown(live: Live) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    model, data = live.world.model, live.world.data
    cast = [body for bodies in live.cast.characters.values() for body in bodies]
    flesh = [vertices.astype(float) for vertices in live.surfaces.vertices(data)]
    characters = np.vstack([outline(model, data, cast, []), *flesh])
    props = [body for body in range(model.nbody) if body not in cast]
    return np.vstack([characters, within_reach(characters, outline(model, data, props, []))])

"""What a page receives about a run: bodies, goals, handles and the present drag."""

import numpy as np

from manikin.studio import drag, pulls
from manikin.studio import messages as m
from manikin.studio.camera import camera_info
from manikin.studio.live import Live
from manikin.studio.soft import flat
from manikin.studio.why import vec


def model_message(live: Live, take: str) -> m.Model:
    """Everything a page needs to know about a scene."""
    scene, world = live.scene, live.world
    bodies = []
    for number, name in enumerate(live.bodies):
        part_of, owner = live.cast.of(number)
        modes = drag.modes_of(live.cast, number)
        bodies.append(m.BodyInfo(name, int(world.model.body_parentid[number]), part_of, owner, modes))  # type: ignore[arg-type]
    return m.Model(
        m.PROTOCOL, scene.name, scene.title or scene.name, scene.document, scene.description, scene.seconds,
        scene.timestep, scene.fps, f"/model.glb?take={take}", tuple(bodies), meshes_of(live), markers_of(live),
        handles_of(live), live.knobs.infos(), camera_info(live), take,
        scene.controller == "direct", bool(scene.steps),
    )  # fmt: skip


def meshes_of(live: Live) -> tuple[m.MeshInfo, ...]:
    """Deforming meshes, as they are now."""
    pairs = zip(live.surfaces.meshes(), live.surfaces.vertices(live.world.data))
    return tuple(
        m.MeshInfo(
            mesh.name, len(mesh.bodies), tuple(mesh.triangles.ravel().tolist()), tuple(mesh.bodies.tolist()),
            flat(vertices), mesh.colour,
        )
        for mesh, vertices in pairs
    )  # fmt: skip


def markers_of(live: Live) -> tuple[m.Marker, ...]:
    """Goals that can be dragged, as they are now."""
    return tuple(m.Marker(n, t.name, live.bodies[b], vec(p), t.active) for n, t, b, _, p in drag.markers(live.run))


def handles_of(live: Live) -> tuple[m.Handle, ...]:
    """Centres of mass, as they are now."""
    return tuple(m.Handle(r, vec(drag.com_of(live.world, b))) for r, b in live.cast.characters.items())


def input_message(live: Live, held: bool, stamp: float) -> m.Input:
    """The present drag; `stamp` of the last pointer that reached a step."""
    assert live.grip is not None
    grip, world = live.grip, live.world
    newtons = float(np.linalg.norm(live.force))
    reports = live.reports()
    if grip.task and reports:
        newtons = reports[grip.task].force if grip.task in reports else 0.0
    limit = pulls.force_limit(world, live.cast, grip, live.run)
    return m.Input(
        grip.target, grip.mode, vec(pulls.place_of(world, live.cast, grip)), vec(grip.pointer), vec(live.force), newtons,
        limit, held, stamp,
    )  # fmt: skip

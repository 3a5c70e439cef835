"""A soft character as MJCF: bones with their hinges and servos, nodes of flesh, flex and skin."""

import xml.etree.ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import CHARACTERS, GROUND, NEAR, PROPS, Character
from manikin.characters.flesh import OPTIONS, SERVO, Bone, Flesh, Plan, flesh_of
from manikin.characters.mjcf import child, digits, element, mesh_asset
from manikin.spatial import quat_from_axis_angle, rotate

Array = NDArray[np.float64]

# contact radius of the coarse mesh [m]
RADIUS = 0.001
# Contact: stiffness and damping, by mass, that stop a fall from 0.3 m within the 5 mm that the fine surface may sink in.
_TOUCH = {"solref": "-40000 -500", "solimp": "0.99 0.999 0.001 0.5 2"}
# Stops of joints: as stiff as the time step allows, and without a bounce.
_STOP = {"solreflimit": "0.005 1", "solimplimit": "0.95 0.99 0.001"}
_CLOSED = {"solref": "0.005 1", "solimp": "0.9999 0.9999 0.001 0.5 2"}


def soft(
    plan: Plan, strength: float = 1.0, prefix: str = "", at: tuple[float, float, float] = (0, 0, 0), facing: float = 0.0
) -> Character:
    """Build a soft character. strength: scales every torque limit. at, facing: where it starts [m], rotated about z [rad]."""
    flesh = flesh_of(plan)
    bodies, joints = _bones(plan, flesh, prefix, plan.details)
    root = bodies[plan.bones[0].name]
    rotation = quat_from_axis_angle((0.0, 0.0, 1.0), facing)
    # DOF order is that of the tree, whatever the order of the plan
    joints = {str(j.get("name")): joints[str(j.get("name"))] for j in root.iter("joint") if j.get("name") in joints}
    root.attrib |= element("body", pos=rotate(rotation, np.array(plan.bones[0].start)) + at, quat=rotation).attrib
    inertia = _moved_inertia(plan, flesh)
    actuators = []
    for name, (bone, axis, torque) in joints.items():
        limit = torque * strength
        kv = plan.servo * _about(inertia, plan, bone, axis) / SERVO
        actuators.append(element("velocity", name=name, joint=name, kv=kv, forcerange=[-limit, limit]))
    nodes, flex, skins = _flesh(plan, flesh, prefix, rotation, np.array(at, float))
    assets = [
        mesh_asset(f"{prefix}{plan.model}_{k}", mesh.vertices - _of(plan, bone).start, mesh.normals, mesh.faces)
        for k, (bone, _, mesh) in enumerate(plan.details)
    ]
    closed, ties = [], []
    if plan.loop is not None:
        first, second = plan.loop
        ties = [_cut_joint(plan, prefix, list(joints))]
        child(
            bodies[first],
            "site",
            name=f"{prefix}loop_end",
            pos=np.subtract(_of(plan, first).end, _of(plan, first).start),
            size=0.01,
            group=4,
        )
        child(bodies[second], "site", name=f"{prefix}loop_start", pos=[0, 0, 0], size=0.01, group=4)
        closed = [element("connect", name=f"{prefix}loop", site1=f"{prefix}loop_end", site2=f"{prefix}loop_start", **_CLOSED)]
    names = tuple(str(body.get("name")) for body in root.iter("body"))
    return Character(
        prefix=prefix,
        body=root,
        assets=tuple(assets),
        actuators=tuple(actuators),
        equalities=tuple(closed),
        root=names[0],
        bodies=names,
        joints=tuple(joints),
        hands=(),
        feet=(),
        contacts=(),
        soles=(),
        height=float(np.ptp(plan.surface.vertices[:, 2])),
        model=plan.model,
        root_joints=_root_joints(plan, prefix),
        options=OPTIONS,
        flesh=flesh,
        nodes=tuple(nodes),
        deformable=(flex, *skins),
        tendons=tuple(ties),
    )


def _cut_joint(plan: Plan, prefix: str, joints: list[str]) -> ET.Element:
    """The joint at which a planar loop is cut: its angle is minus the sum of all others, within the range of one."""
    hinge = next(h for b in plan.bones for h in b.hinges)
    out = element(
        "fixed", name=f"{prefix}{plan.bones[0].name}_{hinge.motion}", limited=True, range=np.deg2rad([hinge.low, hinge.high])
    )
    for name in joints:
        child(out, "joint", joint=name, coef=-1)
    return out


def _of(plan: Plan, name: str) -> Bone:
    return next(b for b in plan.bones if b.name == name)


def _root_joints(plan: Plan, prefix: str) -> tuple[str, ...]:
    return (prefix + "root",) if plan.root == "free" else tuple(prefix + n for n in ("root_x", "root_z", "root_turn"))


def _bones(
    plan: Plan, flesh: Flesh, prefix: str, details: tuple[tuple[str, str, object], ...]
) -> tuple[dict[str, ET.Element], dict[str, tuple[int, Array, float]]]:
    """The tree of bones with masses, and for each hinge its bone, axis and torque limit."""
    bodies: dict[str, ET.Element] = {}
    joints: dict[str, tuple[int, Array, float]] = {}
    inertia = _moved_inertia(plan, flesh)
    for k, bone in enumerate(plan.bones):
        body = bodies[bone.name] = element("body", name=prefix + bone.name)
        if bone.parent is None:
            _add_root(body, plan, prefix)
        else:
            body.set("pos", element("body", pos=np.subtract(bone.start, _of(plan, bone.parent).start)).attrib["pos"])
            bodies[bone.parent].append(body)
        for hinge in bone.hinges:
            name, axis = f"{prefix}{bone.name}_{hinge.motion}", np.array(hinge.axis, float)
            moved, wider = _about(inertia, plan, k, axis), float(np.rad2deg(plan.wider))
            child(
                body, "joint", name=name, type="hinge", axis=axis, range=np.deg2rad([hinge.low - wider, hinge.high + wider]),
                armature=plan.motor * moved, damping=0.2 * moved, margin=plan.stop, **_STOP,
            )  # fmt: skip
            joints[name] = (k, axis, hinge.torque)
        held = flesh.bone == k
        points = np.concatenate([flesh.tets.nodes[held], flesh.bone_points[3 * k : 3 * k + 3]]) - bone.start
        mass = np.concatenate([flesh.mass[held], flesh.bone_mass[3 * k : 3 * k + 3]])
        _add_inertial(body, points, mass)
        for number, (owner, material, _) in enumerate(details):
            if owner == bone.name:
                child(
                    body, "geom", type="mesh", mesh=f"{prefix}{plan.model}_{number}", material=material,
                    contype=0, conaffinity=0, group=1, mass=0,
                )  # fmt: skip
        if plan.core > 0:
            child(
                body, "geom", type="capsule", fromto=[*np.zeros(3), *np.subtract(bone.end, bone.start)], size=plan.core,
                contype=CHARACTERS, conaffinity=GROUND | PROPS, condim=3, friction=[0.0, 0.005, 0.0001], group=4, mass=0,
                gap=NEAR, **_TOUCH,
            )  # fmt: skip
        for name, owner, point in plan.sites:
            if owner == bone.name:
                child(body, "site", name=prefix + name, pos=np.subtract(point, bone.start), size=0.01, group=4)
    return bodies, joints


def _add_root(body: ET.Element, plan: Plan, prefix: str) -> None:
    """The passive root: it is never driven."""
    if plan.root == "free":
        child(body, "freejoint", name=prefix + "root")
        return
    x, z, rotation = _root_joints(plan, prefix)
    child(body, "joint", name=x, type="slide", axis=[1, 0, 0])
    child(body, "joint", name=z, type="slide", axis=[0, 0, 1])
    child(body, "joint", name=rotation, type="hinge", axis=[0, 1, 0])


def _add_inertial(body: ET.Element, points: Array, mass: Array) -> None:
    """Point masses as one rigid body."""
    centre = mass @ points / mass.sum()
    arm = points - centre
    second = np.einsum("n,ni,nj->ij", mass, arm, arm)
    inertia = np.trace(second) * np.eye(3) - second
    full = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    child(body, "inertial", pos=centre, mass=mass.sum(), fullinertia=full)


def _moved_inertia(plan: Plan, flesh: Flesh) -> tuple[Array, Array, NDArray[np.int64]]:
    """All masses with their positions, and the bone that each moves with."""
    points = np.concatenate([flesh.tets.nodes, flesh.bone_points])
    mass = np.concatenate([flesh.mass, flesh.bone_mass])
    return points, mass, np.concatenate([flesh.nearest, np.repeat(np.arange(len(plan.bones)), 3)])


def _about(inertia: tuple[Array, Array, NDArray[np.int64]], plan: Plan, bone: int, axis: Array) -> float:
    """The inertia at a joint [kg m^2]: the reduced inertia of the two parts of the character on either side of it.

    The joints of a closed loop are all alike, wherever it is cut: they get the mean.
    """
    if plan.loop is None:
        return _on_both_sides(inertia, plan, bone, axis)
    hinged = [k for k, b in enumerate(plan.bones) if b.hinges]
    return float(np.mean([_on_both_sides(inertia, plan, k, axis) for k in hinged]))


def _on_both_sides(inertia: tuple[Array, Array, NDArray[np.int64]], plan: Plan, bone: int, axis: Array) -> float:
    """The reduced inertia [kg m^2] about a bone's start, of what lies beyond it and all the rest."""
    points, mass, owner = inertia
    number = {b.name: k for k, b in enumerate(plan.bones)}
    outer = {bone}
    for k, b in enumerate(plan.bones):
        if b.parent is not None and number[b.parent] in outer:
            outer.add(k)
    arm = points - np.array(plan.bones[bone].start)
    part = mass * (np.cross(axis, arm) ** 2).sum(axis=1)
    beyond = np.isin(owner, list(outer))
    out, rest = float(part[beyond].sum()), float(part[~beyond].sum())
    return out * rest / (out + rest)


def _flesh(
    plan: Plan, flesh: Flesh, prefix: str, rotation: Array, at: Array
) -> tuple[list[ET.Element], ET.Element, list[ET.Element]]:
    """Free nodes as bodies, the flex over all nodes, and one skin per material."""
    tets = flesh.tets
    placed = rotate(rotation, tets.nodes) + at
    nodes, owners, local = [], [], np.zeros_like(tets.nodes)
    for k, bone in enumerate(flesh.bone.tolist()):
        if bone >= 0:
            owners.append(prefix + plan.bones[bone].name)
            local[k] = tets.nodes[k] - plan.bones[bone].start
            continue
        owners.append(f"{prefix}node_{k}")
        body = element("body", name=owners[-1], pos=placed[k])
        # a point: it has rotational inertia only because MuJoCo requires some
        child(body, "inertial", pos=[0, 0, 0], mass=flesh.mass[k], diaginertia=[1e-12, 1e-12, 1e-12])
        for axis in np.eye(3, dtype=int).tolist():
            child(body, "joint", type="slide", axis=axis)
        nodes.append(body)
    flex = element(
        "flex", name=prefix + "flesh", dim=3, radius=RADIUS, group=3, body=" ".join(owners), vertex=local,
        element=tets.elements.ravel(),
    )  # fmt: skip
    child(flex, "elasticity", young=plan.young, poisson=plan.poisson, damping=plan.damping)
    # its friction is zero: MuJoCo takes the larger of the two, so the ground decides
    child(
        flex, "contact", selfcollide="none", condim=3, friction=[0.0, 0.005, 0.0001],
        contype=CHARACTERS, conaffinity=GROUND | PROPS, margin=plan.margin, gap=NEAR, **_TOUCH,
    )  # fmt: skip
    return nodes, flex, _skins(plan, flesh, prefix, owners, placed, rotation, at)


def _skins(
    plan: Plan, flesh: Flesh, prefix: str, owners: list[str], placed: Array, rotation: Array, at: Array
) -> list[ET.Element]:
    """The fine surface by material, each vertex with the weights of its four nodes.

    A skin expects bones that rotate, and nodes do not: MuJoCo's own viewer draws it approximately, `export.soft` exactly.
    """
    paint = np.zeros(len(plan.surface.faces), np.int64) if plan.paint is None else plan.paint
    starts = {prefix + b.name: rotate(rotation, np.array(b.start)) + at for b in plan.bones}
    out = []
    for number, material in enumerate(plan.materials):
        used, faces = np.unique(plan.surface.faces[paint == number], return_inverse=True)
        vertices = rotate(rotation, plan.surface.vertices[used]) + at
        skin = element(
            "skin", name=f"{prefix}flesh_{number}", material=material, group=1, vertex=digits(vertices), face=faces.ravel()
        )
        nodes, weights = flesh.place.nodes[used], flesh.place.weights[used]
        for owner in dict.fromkeys(owners):
            mine = [k for k, name in enumerate(owners) if name == owner]
            rows, columns = np.nonzero(np.isin(nodes, mine))
            if len(rows):
                weight = np.bincount(rows, weights[rows, columns], len(used))
                ids = np.flatnonzero(weight > 0)
                fixed = owner in starts
                child(
                    skin, "bone", body=owner, bindpos=starts[owner] if fixed else placed[mine[0]],
                    bindquat=rotation if fixed else [1, 0, 0, 0], vertid=ids, vertweight=digits(np.asarray(weight[ids], float)),
                )  # fmt: skip
        out.append(skin)
    return out

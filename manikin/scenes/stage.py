"""The stage: one MJCF string from characters and props, with the light, ground and palette that every scene shares."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from manikin import palette
from manikin.characters.catalog import CHARACTERS, GROUND, HANDS, PROPS, Character
from manikin.characters.human import STIFF
from manikin.characters.mjcf import child, element
from manikin.physics.attach import grip_name, join_name
from manikin.scenes.furniture import add_case, add_seesaw
from manikin.scenes.links import add_chain, add_pendulum

Shape = Literal["box", "sphere", "capsule", "cylinder", "chain", "pendulum", "case", "seesaw"]


@dataclass(frozen=True)
class PropShape:
    """A prop. size [m]: box edge lengths; sphere (radius); capsule and cylinder (radius, length); others see links.py and
    furniture.py."""

    shape: Shape
    size: tuple[float, ...]
    mass: float
    at: tuple[float, float, float]
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0)  # roll, pitch, yaw [deg]
    friction: float = 0.8
    fixed: bool = False
    catchable: bool = False  # palms touch it
    softness: float = 0.0  # time [s] in which a grip absorbs a difference in speed; 0: stiff
    colour: tuple[float, float, float] = palette.MATERIALS["prop"]
    links: int = 12  # chain
    damping: float = 0.01  # [N m s], chain, pendulum and seesaw
    opacity: float = 1.0

    def mujoco_size(self) -> tuple[float, ...]:
        if self.shape == "box":
            return tuple(s / 2 for s in self.size)
        if self.shape == "sphere":
            return self.size
        return (self.size[0], self.size[1] / 2)


def stage(
    name: str,
    characters: Sequence[Character],
    props: Mapping[str, PropShape],
    timestep: float = 0.002,
    friction: float = 0.8,
    joined: Mapping[str, str] | None = None,
) -> str:
    """The MJCF of a scene, self-contained. joined: {hand: body of a prop} with a ball joint between them."""
    root = element("mujoco", model=name)
    child(root, "compiler", angle="radian", autolimits=True)
    standing = any(c.contacts for c in characters)
    # links and bobs that whip at 40 rad/s gain energy where Coriolis forces are integrated explicitly
    swings = any(spec.shape in ("chain", "pendulum") for spec in props.values())
    option = child(root, "option", timestep=timestep, integrator="implicit" if swings else "implicitfast")
    if standing:
        # friction ten times as stiff as the ground
        option.attrib |= {"cone": "elliptic", "impratio": "10"}
    for character in characters:
        option.attrib |= character.options
    # divergence is reported, never silently reset
    child(option, "flag", autoreset="disable")
    # enough for inlined meshes and the constraints of several characters
    child(root, "size", memory="64M")
    _look(root)
    if all(c.model != "human" for c in characters):
        # shadow maps cover the extent of the model; for a small one the ground would show stripes
        child(root, "statistic", extent=3.2, center=[0, 0, 0.4])
    assets = child(root, "asset")
    _materials(assets)
    world = child(root, "worldbody")
    _ground_and_light(world, friction)
    for character in characters:
        assets.extend(character.assets)
        world.append(character.body)
        world.extend(character.nodes)
    contacts = element("contact")
    for prop, spec in props.items():
        _add_prop(assets, contacts, world, prop, spec)
    soft = [part for character in characters for part in character.deformable]
    if soft:
        child(root, "deformable").extend(soft)
    for character in characters:
        contacts.extend(character.contacts)
    if len(contacts):
        root.append(contacts)
    tendons = [tendon for character in characters for tendon in character.tendons]
    if tendons:
        child(root, "tendon").extend(tendons)
    actuators = child(root, "actuator")
    equalities = child(root, "equality")
    for character in characters:
        actuators.extend(character.actuators)
        equalities.extend(character.equalities)
        for hand in character.hands:
            for prop, spec in props.items():
                if not spec.fixed:
                    grip = STIFF if spec.softness <= 0 else STIFF | {"solref": [spec.softness, 1.0]}
                    child(
                        equalities, "weld", name=grip_name(hand, prop), body1=hand, body2=prop, active=False, **grip
                    )  # fmt: skip
    for hand, body in (joined or {}).items():
        child(equalities, "connect", name=join_name(hand), body1=hand, body2=body, anchor=[0, 0, 0], active=True, **STIFF)
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode")


def _look(root: ET.Element) -> None:
    visual = child(root, "visual")
    child(visual, "global", offwidth=1920, offheight=1920, fovy=32)
    child(visual, "quality", shadowsize=4096, offsamples=4)
    child(visual, "headlight", ambient=[0.38, 0.37, 0.38], diffuse=[0.16, 0.16, 0.17], specular=[0.05, 0.05, 0.05])
    child(visual, "map", znear=0.02, haze=0.4, shadowscale=0.6)
    child(visual, "rgba", haze=[*palette.HAZE, 1])


def _materials(assets: ET.Element) -> None:
    near, far = palette.SKY
    child(assets, "texture", name="sky", type="skybox", builtin="gradient", rgb1=near, rgb2=far, width=256, height=1536)
    for name, colour in palette.MATERIALS.items():
        matte = name == "floor"
        child(
            assets, "material", name=name, rgba=[*colour, 1], reflectance=0,
            specular=0 if matte else 0.28, shininess=0 if matte else 0.35, emission=palette.GLOW.get(name),
        )  # fmt: skip


def _ground_and_light(world: ET.Element, friction: float) -> None:
    child(
        world, "geom", name="floor", type="plane", size=[0, 0, 0.1], material="floor",
        contype=GROUND, conaffinity=PROPS | CHARACTERS, friction=[friction, 0.005, 0.0001],
    )  # fmt: skip
    child(
        world, "light", name="key", type="directional", pos=[1.6, 1.8, 3.6], dir=[-0.42, -0.45, -0.78],
        diffuse=[0.62, 0.59, 0.54], specular=[0.35, 0.33, 0.30], castshadow=True,
    )  # fmt: skip
    child(
        world, "light", name="rim", type="directional", pos=[-2.5, -2, 2.5], dir=[0.62, 0.60, -0.50],
        diffuse=[0.20, 0.23, 0.28], specular=[0.15, 0.15, 0.18], castshadow=False,
    )  # fmt: skip


def _add_prop(assets: ET.Element, contacts: ET.Element, world: ET.Element, name: str, spec: PropShape) -> None:
    touch = {
        "contype": PROPS, "conaffinity": GROUND | PROPS | CHARACTERS | (HANDS if spec.catchable else 0),
        "friction": [spec.friction, 0.005, 0.0001],
        "rgba": [*spec.colour, spec.opacity],
    }  # fmt: skip
    if spec.shape == "seesaw":
        add_seesaw(
            assets, contacts, world, name, spec.size, spec.mass, spec.damping, spec.at, spec.turn, spec.fixed, touch
        )  # fmt: skip
        return
    body = child(world, "body", name=name, pos=spec.at, euler=np.deg2rad(spec.turn))
    if spec.shape == "chain":
        add_chain(assets, body, name, spec.size, spec.mass, spec.links, spec.damping, spec.fixed, touch)
        return
    if spec.shape == "pendulum":
        add_pendulum(body, name, spec.size, spec.mass, spec.damping, spec.fixed, touch)
        return
    if spec.shape == "case":
        add_case(body, name, spec.size, spec.mass, spec.fixed, touch)
        return
    if not spec.fixed:
        child(body, "freejoint", name=name)
    child(body, "geom", name=name, type=spec.shape, size=spec.mujoco_size(), mass=spec.mass, **touch)
    child(body, "site", name=name, size=0.01, group=4)

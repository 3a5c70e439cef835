"""Worlds, controllers and laws for programs that need no scene file: characters on a stage, by name.

world = mk.stage(mk.human())
run = mk.Run(world, mk.Prioritized(), tasks=[mk.Task("hand", mk.points(world, "hand_l"), mk.Stabilize(0.8))])
"""

from collections.abc import Mapping, Sequence

from manikin.characters.catalog import TIMESTEP, Character
from manikin.clips.clip import Clip
from manikin.errors import InputError
from manikin.motion.nearest import nearest_pose
from manikin.motion.retarget import read_clip
from manikin.physics.skeleton import Skeleton
from manikin.physics.world import World
from manikin.scenes.build_context import Actor
from manikin.scenes.build_world import place, skeleton_of, stand_support
from manikin.scenes.schema_world import CharacterSpec
from manikin.scenes.stage import PropShape
from manikin.scenes.stage import stage as stage_text
from manikin.tasks.laws import Leader, Nearest
from manikin.tasks.named import whose

# largest time steps [s] that the characters are made for; soft ones need a smaller one (characters/catalog.py)
HUMAN_STEP, RIGID_STEP = 0.002, 0.001
# humans stand this far [m] apart
APART = 1.0


def stage(
    *characters: Character,
    props: Mapping[str, PropShape] | None = None,
    clip: str | Clip = "stand",
    timestep: float | None = None,
    name: str = "stage",
) -> World:
    """Put characters and props on an empty stage, at rest.

    clip: humans stand in its first pose, a metre apart along y; a shipped name, a clip file or motion capture.
    Several characters need a `prefix` each. timestep [s]: by default the largest that all of them are made for.
    """
    prefixes = [c.prefix for c in characters]
    if len(set(prefixes)) != len(prefixes):
        raise InputError(f"stage: several characters need a prefix each, given {prefixes}")
    actors, humans = [], 0
    for character in characters:
        if character.model != "human":
            actors.append(Actor(CharacterSpec(), character, None))
            continue
        pose = read_clip(clip, character) if isinstance(clip, str) else clip
        actors.append(Actor(CharacterSpec(at=(0.0, APART * humans)), character, pose))
        humans += 1
    step = timestep or min(map(_step_of, characters), default=HUMAN_STEP)
    world = World(stage_text(name, characters, props or {}, step), characters)
    for actor in actors:
        place(world, actor)
    on_feet = [c for c in characters if c.soles and c.contacts]
    world.dynamics().stand_on(tuple(stand_support(world, c) for c in on_feet))
    world.forward()
    return world


def _step_of(character: Character) -> float:
    if character.flesh is not None:
        return TIMESTEP
    return HUMAN_STEP if character.model == "human" else RIGID_STEP


def skeletons(world: World) -> tuple[Skeleton, ...]:
    """The bones of all characters of a world, for `Direct`: mk.Direct(mk.skeletons(world))."""
    return tuple(skeleton_of(world, c) for c in world.characters)


def nearest(
    world: World,
    clip: str | Clip,
    frequency: float = 1.2,
    smoothing: float = 0.05,
    ahead: float = 0.25,
    leaders: Sequence[Leader] = (),
    character: Character | None = None,
) -> Nearest:
    """The law that a human's whole posture follows a clip: at every moment its pose nearest to the present one.

    clip: a shipped name, a clip file or motion capture. frequency [Hz]; smoothing: half-life [s] of the proposed pose.
    leaders: tasks that lead hands somewhere; poses are searched as if the hands were up to `ahead` [m] nearer their goals.
    """
    who = whose(world, character)
    if who.model != "human":
        raise InputError(f"nearest: clips are for humans, and this is a {who.model}")
    motion = read_clip(clip, who) if isinstance(clip, str) else clip
    source = nearest_pose(motion, world, who.prefix, who.bodies, who.joints, who.joints, who.height)
    return Nearest(source, frequency, smoothing, ahead=ahead, leaders=tuple(leaders))

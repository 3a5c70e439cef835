"""The build context of a table of a scene: looks up names, and puts the key into error messages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manikin.characters.catalog import Character
from manikin.clips.clip import Clip
from manikin.errors import InputError, SceneError, did_you_mean
from manikin.physics.world import World
from manikin.scenes.scene import Scene
from manikin.scenes.schema_tasks import TaskSpec
from manikin.scenes.schema_world import CharacterSpec
from manikin.tasks.measures import Points
from manikin.tasks.named import find_points


@dataclass(frozen=True)
class Actor:
    """A character of the scene with its clip; only the human has one."""

    spec: CharacterSpec
    character: Character
    clip: Clip | None


@dataclass(frozen=True)
class BuildContext:
    """One table of a scene, at `path`, and the world that is being built."""

    scene: Scene
    world: World
    actors: list[Actor]
    path: str

    def wrong(self, key: str, message: str) -> SceneError:
        return SceneError(f"{self.scene.where}: {self.path}.{key}: {message}")

    def look_up(self, key: str, find: Callable[[], Any]) -> Any:
        try:
            return find()
        except InputError as error:
            raise self.wrong(key, str(error)) from None

    def actor_of(self, spec: TaskSpec) -> Actor:
        names = [a.character.prefix[:-1] for a in self.actors]
        if spec.character is None:
            if len(self.actors) > 1:
                raise self.wrong("character", f"is missing: which character's task is it?{did_you_mean('', names)}")
            return self.actors[0]
        if spec.character not in names:
            raise self.wrong("character", f"given '{spec.character}'{did_you_mean(spec.character, [n for n in names if n])}")
        return self.actors[names.index(spec.character)]

    def points(self, actor: Actor, names: tuple[str, ...], key: str) -> Points:
        """Sites or bodies by name; a character's own names may be given without its prefix."""
        return self.look_up(key, lambda: Points(*find_points(self.world, names, actor.character.prefix)))

    def movable(self, name: str, key: str) -> int:
        """The body number of a movable prop."""
        movable = [p for p, spec in self.scene.props.items() if not spec.fixed]
        if name in self.scene.props and name not in movable:
            raise self.wrong(key, f"'{name}' is fixed and cannot move{did_you_mean('', movable)}")
        if name not in movable:
            raise self.wrong(key, f"no movable prop is called '{name}'{did_you_mean(name, movable)}")
        return self.world.body(name)

"""Make every picture of the documentation from the code. Run: python tools/make_pictures.py [name of one picture]"""

import copy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import manikin as mk  # before mujoco: it chooses what to draw with

import mujoco  # isort: skip
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from manikin.export.framing import View
from manikin.export.render import Painter, view_of
from manikin.motion.keyframes import both_sides, posture_of
from manikin.physics.world import Push, World
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.scenes.stage import stage

IMAGES = Path(__file__).parents[1] / "docs" / "images"
INK = (60, 52, 46)
_TAKES: dict[tuple[str, float, str], Recording] = {}

# --- lifts


def lift(style: str, mass: float, feet: str = "clamped") -> Recording:
    """A lift, run once."""
    if (style, mass, feet) not in _TAKES:
        scene = load_scene("lift", {"character.clip": f"lift_{style}", "props.box.mass": mass, "character.feet": feet})
        _TAKES[style, mass, feet] = mk.run(scene).recording
    return _TAKES[style, mass, feet]


def box_height(recording: Recording) -> np.ndarray:
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    start = int(model.jnt_qposadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, "box")])
    return recording.qpos[:, start + 2]


def story(recording: Recording) -> list[tuple[str, int]]:
    """Eight moments of a lift: caption and frame."""
    began = {event["name"]: event["time"] for event in recording.meta["events"]}
    time, height = recording.time, box_height(recording)
    middle = (height.min() + height.max()) / 2
    up = float(time[np.argmax(height > middle)])
    down = float(time[np.argmax((height < middle) & (time > began["lower"]))])
    return [
        (name, int(np.abs(time - t).argmin()))
        for name, t in (
            ("stand", 0.0), ("reach", 0.5 * began["touch"]), ("take hold", began["lift"]), ("halfway up", up),
            ("top", began["lower"]), ("halfway down", down), ("set down", began["let_go"]), ("stand again", float(time[-1])),
        )
    ]  # fmt: skip


def caption(tile: np.ndarray, text: str) -> np.ndarray:
    picture = Image.fromarray(tile)
    ImageDraw.Draw(picture).text((10, 7), text, fill=INK, font=ImageFont.load_default(15))
    return np.asarray(picture)


def sheet(style: str, mass: float, feet: str = "clamped") -> Image.Image:
    """Eight moments, from the scene's camera and from the side."""
    recording = lift(style, mass, feet)
    view = view_of(recording)
    front, side = (View(azimuth, view.elevation, 3.75, (0.22, 0.0, 0.91)) for azimuth in (view.azimuth, 90.0))
    rows = []
    with Painter(recording, 210, 290, fine=True) as painter:
        for seen in (front, side):
            tiles = [painter.draw(frame, seen) for _, frame in story(recording)]
            if seen is front:
                names = [f"{recording.time[f]:.1f} s  {name}" for name, f in story(recording)]
                tiles = [caption(t, n) for t, n in zip(tiles, names)]
            rows.append(np.hstack(tiles))
    return Image.fromarray(np.vstack(rows))


def masses() -> Image.Image:
    """The same moments after the grasp for three masses: the force limit makes the heavy boxes slow."""
    rows = []
    for mass in (5.0, 60.0, 80.0):
        recording = lift("knees", mass)
        grasp = next(event["time"] for event in recording.meta["events"] if event["name"] == "lift")
        tiles = []
        with Painter(recording, 230, 290, fine=True) as painter:
            for after in (0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.6):
                frame = int(np.abs(recording.time - grasp - after).argmin())
                tile = painter.draw(frame, View(75.0, -9.0, 3.75, (0.22, 0.0, 0.91)))
                tiles.append(caption(tile, f"{mass:g} kg   {after:.1f} s"))
        rows.append(np.hstack(tiles))
    return Image.fromarray(np.vstack(rows))


# --- chain and pendulum


def film(recording: Recording, times: Sequence[float], view: View, notes: Sequence[str]) -> np.ndarray:
    """Moments of a recording side by side, each with its time and a word."""
    with Painter(recording, 210, 290, fine=True) as painter:
        frames = [int(np.abs(recording.time - t).argmin()) for t in times]
        return np.hstack([caption(painter.draw(f, view), f"{recording.time[f]:.1f} s  {n}") for f, n in zip(frames, notes)])


def catch() -> Image.Image:
    """A ball of half a kilogram is caught and brought back; below, one of five gives the hand a push."""
    rows = []
    for mass in (0.5, 5.0):
        recording = mk.run(load_scene("catch", {"props.ball.mass": mass})).recording
        touch = next(e["time"] for e in recording.meta["events"] if e["name"] == "caught")
        times = (0.0, 0.5 * touch, touch - 0.1, touch, touch + 0.08, touch + 0.25, touch + 1.1)
        notes = [f"{mass:g} kg  {1000 * (t - touch):+.0f} ms" for t in times]
        rows.append(film(recording, times, View(52.0, -8.0, 4.4, (0.55, -0.1, 1.0)), notes))
    return Image.fromarray(np.vstack(rows))


def toss() -> Image.Image:
    """Caught and thrown."""
    recording = mk.run(load_scene("toss")).recording
    began = {e["name"]: e["time"] for e in recording.meta["events"]}
    moments = (
        ("it comes", 0.6 * began["caught"]), ("caught", began["caught"]), ("held", began["throw"]),
        ("drawn back", began["throw"] + 0.6), ("thrown", began["thrown"]), ("flies", began["thrown"] + 0.25),
        ("lands", began["landed"]),
    )  # fmt: skip
    view = View(62.0, -8.0, 5.6, (1.2, 0.0, 0.95))
    return Image.fromarray(film(recording, [t for _, t in moments], view, [n for n, _ in moments]))


def chain() -> Image.Image:
    """The same tug at three gains."""
    rows = []
    for frequency in (0.7, 1.0, 2.5):
        recording = mk.run(load_scene("chain", {"tasks.hands.frequency": frequency}), seconds=4.6).recording
        moved = 100 * recording.tasks["hands"]["error"]
        times = (0.0, 0.8, 1.1, 1.7, 2.3, 3.4, 4.5)
        notes = [f"{frequency:g} Hz  {moved[np.abs(recording.time - t).argmin()]:.0f} cm" for t in times]
        rows.append(film(recording, times, View(52.0, -9.0, 3.9, (0.32, 0.0, 0.88)), notes))
    return Image.fromarray(np.vstack(rows))


def pendulum() -> Image.Image:
    """With the force limit, without it, and with the bob left out of the controller's model."""
    rows = []
    for name, changes in (
        ("180 N", {}),
        ("no limit", {"tasks.hand.max_force": 1e6}),
        ("unknown", {"tasks.hand.max_force": 1e6, "props.bob.unknown": True}),
    ):
        recording = mk.run(load_scene("pendulum", changes)).recording
        off = 100 * recording.tasks["hand"]["error"]
        times = (0.0, 1.6, 3.1, 3.75, 5.5, 6.8, 8.9, 12.9)
        notes = [f"{name}  {off[np.abs(recording.time - t).argmin()]:.1f} cm" for t in times]
        rows.append(film(recording, times, View(40.0, -9.0, 3.9, (0.25, -0.1, 0.92)), notes))
    return Image.fromarray(np.vstack(rows))


def pushed(force: tuple[float, float]) -> Recording:
    """Someone who stands on their own feet and is pushed for 0.2 s after 1.5 s."""
    run = build_run(load_scene("stand"))
    run.advance(750)
    run.advance(100, [Push("pelvis", np.array([*force, 0.0]))])
    run.advance(1150)
    assert run.recorder is not None
    run.recorder.meta |= {"ok": True, "reason": ""}
    return run.recorder.finish()


def pushes() -> Image.Image:
    """Pushed from behind, from the front, and from the right: the ankles, then the whole body answer."""
    rows = []
    times = (1.5, 1.7, 1.85, 2.0, 2.3, 2.7, 3.2, 3.9)
    for name, force, azimuth in (
        ("forward 150 N", (150.0, 0.0), 80.0),
        ("back 150 N", (-150.0, 0.0), 80.0),
        ("left 200 N", (0.0, 200.0), 10.0),
    ):
        notes = [name if t == times[0] else "pushed" if t == times[1] else "" for t in times]
        rows.append(film(pushed(force), times, View(azimuth, -7.0, 3.6, (0.05, 0.0, 0.93)), notes))
    return Image.fromarray(np.vstack(rows))


def clip_sheet(name: str, count: int) -> Image.Image:
    """A shipped clip, from the front and from the side."""
    character, clip = mk.human(), mk.load_clip(name)
    world = World(stage("clip", [character], {}))
    rows = []
    for azimuth in (38.0, 90.0):
        tiles = []
        for frame in np.linspace(0, len(clip.qpos) - 1, count).round().astype(int):
            picture = draw(copy.copy(world.model), [clip.qpos[frame]], View(azimuth, -9.0, 3.9, (0.15, 0.0, 1.0)), (150, 250))
            tiles.append(caption(np.asarray(picture), f"{frame / clip.fps:.1f} s" if azimuth < 90 else ""))
        rows.append(np.hstack(tiles))
    return Image.fromarray(np.vstack(rows))


# --- several bodies in one picture


def across(view: View) -> np.ndarray:
    """The direction (2,) on the ground that runs from left to right in the picture."""
    angle = np.deg2rad(view.azimuth)
    return np.array([-np.sin(angle), np.cos(angle)])


def draw(model: mujoco.MjModel, poses: Sequence[np.ndarray], view: View, size: tuple[int, int]) -> Image.Image:
    """All poses of one model in one picture."""
    model.vis.quality.shadowsize, model.vis.quality.offsamples = 8192, 8
    # a wide scene needs its lamps further away, or the floor in front of them is lit wrongly
    model.light_pos -= 4 * model.light_dir
    model.vis.map.shadowclip *= 2
    options = mujoco.MjvOption()
    options.geomgroup[:] = [1, 1, 1, 0, 0, 0]
    options.sitegroup[:] = 0
    camera = mujoco.MjvCamera()
    camera.azimuth, camera.elevation, camera.distance = 180 + view.azimuth, view.elevation, view.distance
    camera.lookat[:] = view.at
    with mujoco.Renderer(model, size[1], size[0]) as renderer:
        for k, qpos in enumerate(poses):
            data = mujoco.MjData(model)
            data.qpos[:] = qpos
            mujoco.mj_forward(model, data)
            if k == 0:
                renderer.update_scene(data, camera, options)
            else:
                moving = mujoco.mjtCatBit.mjCAT_DYNAMIC
                mujoco.mjv_addGeoms(model, data, options, mujoco.MjvPerturb(), moving, renderer.scene)
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 1
        return Image.fromarray(renderer.render())


def hero() -> Image.Image:
    """Five moments of one lift side by side."""
    recording = lift("knees", 25.0)
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    roots = [int(model.jnt_qposadr[j]) for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE]
    view = View(48.0, -9.0, 3.95, (0.14, -0.12, 0.86))
    poses = []
    for k, (_, frame) in enumerate(story(recording)[:5]):
        qpos = recording.qpos[frame].copy()
        for root in roots:
            qpos[root : root + 2] += 1.1 * (k - 2) * across(view)
        poses.append(qpos)
    return draw(model, poses, view, (1280, 440))


Angles = dict[str, float]
STAND: Angles = {}
OVERHEAD: Angles = {
    "upper_arm_flexion": 160, "upper_arm_abduction": 22, "clavicle_elevation": 25, "forearm_flexion": 12, "head_flexion": -18,
    "thorax_flexion": -8,
}  # fmt: skip


def figures(people: Sequence[dict[str, object]], poses: Sequence[Angles | str], view: View) -> Image.Image:
    """People side by side; a pose is angles [deg] on top of standing, or a clip whose middle frame is taken."""
    cast = [mk.human(**person, prefix=f"{k}/") for k, person in enumerate(people)]  # type: ignore[arg-type]
    world = World(stage("figures", cast, {}))
    for k, (character, pose) in enumerate(zip(cast, poses)):
        clip = mk.load_clip(pose if isinstance(pose, str) else "stand")
        frame = len(clip.qpos) * 15 // 32 if isinstance(pose, str) else 0
        names = tuple(j.removeprefix(character.prefix) for j in character.joints)
        angles = clip.angles(names)[frame]
        for joint, degrees in (both_sides(pose) if isinstance(pose, dict) else {}).items():
            angles[names.index(joint)] = np.deg2rad(degrees)
        root = clip.root(character.height)[frame]
        root[:2] += 1.05 * (k - (len(cast) - 1) / 2) * across(view)
        start = int(world.model.jnt_qposadr[world.joint(character.prefix + "root")])
        world.data.qpos[start : start + 7] = root
        world.data.qpos[posture_of(world, character).qpos] = angles
    return draw(world.model, [world.data.qpos], view, (960, 640))


def sizes() -> Image.Image:
    people = [{"height": 1.5, "mass": 40.0}, {"height": 1.75, "mass": 75.0}, {"height": 2.0, "mass": 120.0}]
    return figures(people, [STAND] * 3, View(18.0, -5.0, 4.2, (0.0, 0.0, 1.0)))


def sexes() -> Image.Image:
    people = [{"sex": "female"}, {"sex": "neutral"}, {"sex": "male"}]
    return figures(people, [STAND] * 3, View(18.0, -5.0, 4.2, (0.0, 0.0, 1.0)))


def poses() -> Image.Image:
    return figures([{}] * 3, ["lift_knees", "lift_back", OVERHEAD], View(42.0, -6.0, 4.6, (0.15, 0.0, 1.08)))


PICTURES: dict[str, Callable[[], Image.Image]] = {
    "hero": hero,
    "lift_knees_5kg": lambda: sheet("knees", 5.0),
    "lift_knees_25kg": lambda: sheet("knees", 25.0),
    "lift_back_5kg": lambda: sheet("back", 5.0),
    "lift_back_25kg": lambda: sheet("back", 25.0),
    "lift_masses": masses,
    "lift_feet_20kg": lambda: sheet("knees", 20.0, "contact"),
    "pushes": pushes,
    "catch": catch,
    "toss": toss,
    "chain": chain,
    "pendulum": pendulum,
    "clip_reach": lambda: clip_sheet("reach", 9),
    "clip_catch": lambda: clip_sheet("catch", 12),
    "clip_toss": lambda: clip_sheet("toss", 10),
    "figure_sizes": sizes,
    "figure_sexes": sexes,
    "figure_poses": poses,
}


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        path = IMAGES / f"{name}.png"
        picture = PICTURES[name]().quantize(192, dither=Image.Dither.FLOYDSTEINBERG)
        picture.save(path, optimize=True)
        print(f"{path.name:<22} {picture.size[0]} x {picture.size[1]}  {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()

"""The findings of `manikin check` about a file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manikin.clips.text import kind_of
from manikin.errors import ClipError, InputError, RecordingError, did_you_mean_kind

if TYPE_CHECKING:
    from manikin.characters.catalog import Character
    from manikin.clips.clip import Clip
    from manikin.recording import Recording

# motion files, .gz of them too
MOTIONS = (".bvh", ".amc")

# frames of a faithful replay agree with the recording to this [m, rad]
TOLERANCE = 1e-9


def check_file(
    path: Path, clip_fps: float | None = None, skeleton: str | None = None, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:  # fmt: skip
    """Findings about a scene, recording, clip or motion file; `ok` and `reason` among them. Unreadable files raise InputError.

    clip_fps, skeleton: of motion files, as on the command line.
    """
    kind = kind_of(path)
    if kind not in MOTIONS and (clip_fps is not None or skeleton is not None):
        raise InputError(f"{path}: --clip-fps and --skeleton are for motion files ({', '.join(MOTIONS)})")
    if clip_fps is not None and not 0 < clip_fps <= 10_000:
        raise InputError(f"--clip-fps: given {clip_fps:g}: frames per second above 0 and at most 10000 are expected")
    if not path.exists():
        from manikin.scenes.scene import shipped

        if str(path) in shipped():
            return _check_scene(str(path))
        raise InputError(f"{path}: no such file")
    if kind == ".asf":
        return _check_skeleton(path)
    if kind in MOTIONS:
        return _check_motion(path, clip_fps, skeleton, progress)
    if path.suffix == ".toml":
        return _check_scene(str(path))
    if path.suffix == ".npz":
        try:
            return _check_recording(path)
        except RecordingError as not_recording:
            try:
                return _check_clip(path)
            except ClipError:
                raise not_recording from None
    raise InputError(
        f"{path}: unknown kind of file '{path.suffix}'{did_you_mean_kind(path.suffix, ('.toml', '.npz', *MOTIONS, '.asf'))}"
    )


def _check_scene(source: str) -> dict[str, Any]:
    from manikin.scenes.build import build_run, without_effect
    from manikin.scenes.scene import load_scene

    scene = load_scene(source)
    run = build_run(scene, record=False)
    model = run.world.model
    warnings = without_effect(scene, run.tasks, int(model.nu))
    return {
        "kind": "scene", "ok": True, "reason": "", "name": scene.name, "degrees_of_freedom": int(model.nv),
        "actuators": int(model.nu), "tasks": len(run.tasks), "steps": len(scene.steps),
        "mass": round(float(model.body_mass.sum()), 3), **({"warnings": warnings} if warnings else {}),
    }  # fmt: skip


def _check_recording(path: Path) -> dict[str, Any]:
    from manikin.playback import replay
    from manikin.recording import load_recording

    recording = load_recording(path)
    try:
        result = replay(recording)
        _check_savable(recording)
    except RecordingError as error:
        raise RecordingError(f"{path}: {error}") from error
    ok = result.difference <= TOLERANCE
    reason = "" if ok else f"the replay differs by {result.difference:.3g} at {result.time:.3f} s (allowed {TOLERANCE:g})"
    return {
        "kind": "recording", "ok": ok, "reason": reason, "name": recording.meta.get("name", ""),
        "seconds": round(float(recording.time[-1]), 6), "frames": len(recording.time), "steps": result.steps,
        "replay_difference": result.difference, "job_done": bool(recording.meta.get("ok", False)),
    }  # fmt: skip


def _check_savable(recording: "Recording") -> None:
    """What reports and pictures read from the recorded scene: its facts and its camera."""
    import tomllib

    from pydantic import ValidationError

    from manikin.export.render import view_of
    from manikin.export.report import make_report

    try:
        view_of(recording)
    except ValidationError as error:
        raise RecordingError(f"the recorded scene's camera is wrong: {error.errors()[0]['msg']}") from error
    for name, spec in tomllib.loads(recording.meta["scene"]).get("facts", {}).items():
        if "task" in spec and spec.get("column", "force") not in recording.tasks.get(spec["task"], {}):
            raise RecordingError(f"the recorded scene's fact '{name}' is about a task or a column that was not recorded")
    make_report(recording)


def _check_clip(path: Path) -> dict[str, Any]:
    from manikin.characters.human import human
    from manikin.clips.clip import load_clip
    from manikin.motion.retarget import slips

    clip = load_clip(str(path))
    body = human(clip.height, skin=False)
    stances = slips(clip, body)
    wrong = [
        f"{s.foot} slides {100 * s.distance:.1f} cm during stance (frames {s.start} to {s.end - 1})"
        for s in stances
        if s.distance > 0.01
    ]
    wrong += clip_doubts(clip, body)
    return {
        "kind": "clip", "ok": True, "reason": "", "joints": len(clip.joints), "fps": clip.fps,
        "frames": len(clip.qpos), "seconds": round(len(clip.qpos) / clip.fps, 3), "stature": clip.height,
        "stances": _stances(stances), "looks_wrong": wrong,
    }  # fmt: skip


def clip_doubts(clip: "Clip", body: "Character") -> list[str]:
    """What may be wrong with a clip on a body: its rate, and a first frame that is not a standing pose."""
    from manikin.clips.first_frame import first_frame
    from manikin.clips.rate import rate_doubts
    from manikin.clips.roles import find_roles
    from manikin.motion.chain import clip_motion

    motion = clip_motion(clip, body)
    return [*rate_doubts(motion), *first_frame(motion, find_roles(motion), body.height, ground=0.0)]


def _stances(stances: Sequence[Any]) -> str:
    """'left 4, right 3': how many stances each foot has."""
    return ", ".join(f"{side} {sum(s.foot == f'foot_{side[0]}' for s in stances)}" for side in ("left", "right"))


def _check_motion(
    path: Path, fps: float | None, skeleton: str | None, progress: Callable[[float], None] | None
) -> dict[str, Any]:  # fmt: skip
    """Read a motion file, report guesses, repairs and what looks wrong, and retarget it to the human."""
    from manikin.characters.human import human
    from manikin.clips.source import read_motion, stature, suspicions
    from manikin.motion.retarget import centre_error, retarget, slips

    motion = read_motion(path, fps, None if skeleton is None else Path(skeleton))
    found: dict[str, Any] = {
        "kind": "motion", "ok": True, "reason": "", "joints": len(motion.joints), "fps": motion.fps,
        "frames": len(motion.root), "seconds": round(motion.seconds, 3), "stature": round(stature(motion), 3),
        "notes": list(motion.notes), "looks_wrong": suspicions(motion, path.name),
    }  # fmt: skip
    body = human(skin=False)
    try:
        result = retarget(motion, body, str(path), progress)
    except ClipError as error:
        # the file is valid but the skeleton is not a human's: the reason without the file's name, which is printed before it
        return found | {"ok": False, "reason": str(error).removeprefix(f"{path}: ")}
    stances = slips(result.clip, body)
    found |= {
        "stances": _stances(stances), "fit_cm": round(100 * float(centre_error(result, body).mean()), 2),
        "standing_share": round(float(result.clip.contacts.any(axis=1).mean()), 3),
    }  # fmt: skip
    found["looks_wrong"] += _ground_doubts(result.centres, result.clip, found["fit_cm"])
    return found


def _ground_doubts(centres: Mapping[str, Any], clip: Any, fit: float) -> list[str]:
    """Doubts about the ground (feet below it, or never on it) and about proportions."""
    out = []
    lowest = min(float(centres[f"foot_{s}"][:, 2].min()) for s in "lr")
    if lowest < 0:
        out.append(f"an ankle goes {-100 * lowest:.0f} cm below the ground")
    if len(clip.qpos) > 2 * clip.fps and not clip.contacts.any():
        out.append("no foot ever rests: the rate or the units may be wrong")
    if fit > 4:
        out.append(f"joint centres fit the human only to {fit:.1f} cm: proportions are not a human's, or joints are swapped")
    return out


def _check_skeleton(path: Path) -> dict[str, Any]:
    from manikin.clips.asf import read_asf

    asf = read_asf(path)
    return {
        "kind": "skeleton", "ok": True, "reason": "", "bones": len(asf.bones) - 1,
        "degrees_of_freedom": sum(len(b.freedom) for b in asf.bones),
        "units": "not said" if asf.unit is None else f"1 = {asf.unit:.6g} m (as the file says)",
    }  # fmt: skip

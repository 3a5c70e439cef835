"""What `manikin check` finds in a file."""

from pathlib import Path
from typing import Any

from manikin.errors import ClipError, InputError, RecordingError, did_you_mean

# frames of a faithful replay agree with the recording to this [m, rad]
TOLERANCE = 1e-9


def check_file(path: Path) -> dict[str, Any]:
    """Findings about a scene, recording or clip; `ok` and `reason` among them. Unreadable files raise InputError."""
    if not path.exists():
        from manikin.scenes.scene import shipped

        if str(path) in shipped():
            return _check_scene(str(path))
        raise InputError(f"{path}: no such file")
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
    raise InputError(f"{path}: unknown kind of file '{path.suffix}'{did_you_mean(path.suffix, ('.toml', '.npz'))}")


def _check_scene(source: str) -> dict[str, Any]:
    from manikin.scenes.build import build_run
    from manikin.scenes.scene import load_scene

    scene = load_scene(source)
    run = build_run(scene, record=False)
    model = run.world.model
    return {
        "kind": "scene", "ok": True, "reason": "", "name": scene.name, "degrees_of_freedom": int(model.nv),
        "actuators": int(model.nu), "tasks": len(run.tasks), "steps": len(scene.steps),
        "mass": round(float(model.body_mass.sum()), 3),
    }  # fmt: skip


def _check_recording(path: Path) -> dict[str, Any]:
    from manikin.playback import replay
    from manikin.recording import load_recording

    recording = load_recording(path)
    result = replay(recording)
    ok = result.difference <= TOLERANCE
    reason = "" if ok else f"the replay differs by {result.difference:.3g} at {result.time:.3f} s (allowed {TOLERANCE:g})"
    return {
        "kind": "recording", "ok": ok, "reason": reason, "name": recording.meta.get("name", ""),
        "seconds": round(float(recording.time[-1]), 6), "frames": len(recording.time), "steps": result.steps,
        "replay_difference": result.difference, "job_done": bool(recording.meta.get("ok", False)),
    }  # fmt: skip


def _check_clip(path: Path) -> dict[str, Any]:
    from manikin.clips.clip import load_clip

    clip = load_clip(str(path))
    return {
        "kind": "clip", "ok": True, "reason": "", "joints": len(clip.joints), "fps": clip.fps,
        "frames": len(clip.qpos), "seconds": round(len(clip.qpos) / clip.fps, 3), "stature": clip.height,
    }  # fmt: skip

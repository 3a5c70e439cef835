"""Uploads in a cage: a small file that would take all memory, or for ever, is refused in one line, and quickly."""

import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import manikin as mk
from manikin.errors import RecordingError
from manikin.scenes.scene import load_scene
from manikin.studio import cage
from manikin.studio.takes import TakeFolder

# how hostile models begin: small texts that grow when they are compiled; sizes are drawn
GREEDY = {
    "height field": lambda n: f'<asset><hfield name="h" nrow="{20 * n}" ncol="{20 * n}" size="1 1 1 1"/></asset><worldbody>',
    "replicate": lambda n: f'<worldbody><replicate count="{500 * n}"><body><freejoint/><geom size="1"/></body></replicate>',
    "nested replicate": lambda n: (
        f'<worldbody><replicate count="{n}"><replicate count="{n}"><body><geom size="1"/></body></replicate></replicate>'
    ),
    "flexcomp": lambda n: (
        f'<worldbody><flexcomp name="f" type="grid" count="{n // 5} {n // 5} {n // 5}" spacing="1 1 1" mass="1" dim="3"/>'
    ),
    "texture": lambda n: (
        f'<asset><texture name="t" type="2d" builtin="flat" width="{20 * n}" height="{20 * n}"/></asset><worldbody>'
    ),
    "many joints": lambda n: (
        "<worldbody>" + "<body><joint/><geom size='1'/>" * min(50 * n, 60_000) + "</body>" * min(50 * n, 60_000)
    ),
    "memory": lambda n: f'<size memory="{n}G"/><worldbody>',
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The arrays of a recording that is welcome."""
    path = tmp_path_factory.mktemp("honest") / "stand.npz"
    mk.run(load_scene("stand"), seconds=0.1).recording.save(path)
    with np.load(path) as saved:
        return dict(saved)


def upload(arrays: dict[str, Any], folder: Path) -> Path:
    path = folder / "upload.npz"
    np.savez_compressed(path, **arrays)
    return path


@pytest.mark.parametrize("kind", GREEDY)
def test_a_greedy_model_is_refused_within_its_limits(
    kind: str, honest: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # long enough for what is refused for its memory
    monkeypatch.setattr(cage, "SECONDS", 5)
    folder = TakeFolder(tmp_path / "takes")
    text = str(honest["mjcf"]).replace("<worldbody>", GREEDY[kind](2500), 1)
    began = time.monotonic()
    with pytest.raises(RecordingError) as refused:
        folder.add(upload({**honest, "mjcf": np.array(text)}, tmp_path))
    assert "\n" not in str(refused.value)
    assert time.monotonic() - began < 5 + 5
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < 1e9
    # nothing is left behind
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize(
    "scene", ['name = "x"\n[props.c]\nshape = "chain"\nsize = [0.01, 1e6]\nlinks = 100000\nmass = 1.0', "a = ", ""]
)
def test_a_recording_whose_scene_does_not_give_its_model_is_a_take_that_cannot_be_opened(
    scene: str, honest: dict[str, Any], tmp_path: Path
) -> None:
    folder = TakeFolder(tmp_path / "takes")
    meta = json.dumps(json.loads(str(honest["meta"])) | {"scene": scene})
    try:
        take = folder.add(upload({**honest, "meta": np.array(meta)}, tmp_path))
    except RecordingError:
        assert scene == "a = "
        return
    assert folder.opens(take)


def test_a_welcome_recording_is_a_take(honest: dict[str, Any], tmp_path: Path) -> None:
    folder = TakeFolder(tmp_path / "takes")
    take = folder.add(upload(honest, tmp_path), "mine")
    info = folder.info(take)
    assert info is not None
    assert (info.name, info.scene, info.seconds) == ("mine", "stand", pytest.approx(0.1, abs=0.02))
    assert folder.opens(take) == ""

"""Messages: what is said is understood, and nothing else is."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manikin
from manikin.studio.messages import (
    CLIENT,
    GHOST,
    LIVE,
    MAX_TEXT,
    SERVER,
    Drag,
    Grab,
    Knob,
    MessageError,
    Seek,
    Step,
    dump,
    pack_frame,
    parse,
    unpack_frame,
)  # fmt: skip
from manikin.studio.messages.typescript import typescript


def test_the_types_of_the_page_are_fresh() -> None:
    file = Path(manikin.__file__).parent / "studio" / "page" / "src" / "messages.ts"
    assert file.read_text(encoding="utf-8") == typescript(), "run tools/make_studio_types.py"


def test_every_message_is_in_the_types() -> None:
    text = typescript()
    for kind in (*CLIENT, *SERVER):
        assert f"kind: {json.dumps(kind)};" in text


def test_there_and_back() -> None:
    for message in (
        Grab("hand_l", "task", (0.0, 0.01, -0.02)), Drag((0.5, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), 12.5), Step(3),
        Knob("props.box.mass", 12.0), Seek(1.5), Drag((0.0, 0.0, 0.0)),
    ):  # fmt: skip
        assert parse(dump(message)) == message
    assert parse('{"kind": "grab", "target": "head", "mode": "push"}') == Grab("head", "push")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[]", "JSON object"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ("{}", "kind: is missing"),
        ('{"kind": 3}', "kind: is missing, or not text"),
        ('{"kind": "plai"}', "did you mean 'play'"),
        ('{"kind": "play", "now": true}', "no field is called 'now'"),
        ('{"kind": "knob", "path": "props.box.mass"}', "knob.value: is missing"),
        ('{"kind": "knob", "path": "props.box.mass", "value": "9"}', "knob.value: must be a number"),
        ('{"kind": "knob", "path": "props.box.mass", "value": true}', "knob.value: must be a number"),
        ('{"kind": "knob", "path": "props.box.mass", "value": NaN}', "NaN is not a number"),
        ('{"kind": "knob", "path": "props.box.mass", "value": Infinity}', "Infinity is not a number"),
        ('{"kind": "knob", "path": "props.box.mass", "value": 1e999}', "must be a number from -1e"),
        ('{"kind": "knob", "path": "props.box.mass", "value": 1' + "0" * 400 + "}", "must be a number from -1e"),
        ('{"kind": "drag", "goal": [1, 2]}', "drag.goal: must be 3 numbers"),
        ('{"kind": "drag", "goal": [1, 2, null]}', "drag.goal.2: must be a number"),
        ('{"kind": "drag", "goal": [1, 2, 3], "turn": [0, 0, 0, 0]}', "drag.turn"),
        ('{"kind": "grab", "target": "head", "mode": "kiss"}', "grab.mode: given \"kiss\""),
        ('{"kind": "step", "steps": 1.5}', "step.steps: must be a whole number"),
        ('{"kind": "step", "steps": 0}', "step.steps: given 0"),
        ('{"kind": "why", "on": 1}', "why.on: must be true or false"),
        ('{"kind": "speed", "factor": 3}', "speed.factor: given 3"),
        ('{"kind": "assist", "newtons": -1}', "assist.newtons"),
        ('{"kind": "seek", "time": -1}', "seek.time"),
        ('{"kind": "fan_take", "choice": 5}', "fan_take.choice"),
        (json.dumps({"kind": "open", "scene": "x" * 300}), "open.scene: must be text of at most 200"),
        ('{"kind": "open", "scene": "' + "x" * MAX_TEXT + '"}', "at most 1000000 are read"),
    ],
)  # fmt: skip
def test_bad_messages_are_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(MessageError, match=says) as refused:
        parse(text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 900


PLAIN = st.none() | st.booleans() | st.floats() | st.integers() | st.text()


@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_noise_is_refused_and_nothing_else_happens(noise: object) -> None:
    for kind in CLIENT:
        with pytest.raises(MessageError):
            parse(json.dumps({"kind": kind, "noise": noise}))
    with pytest.raises(MessageError):
        parse(json.dumps(noise))


def test_frames_there_and_back() -> None:
    rng = np.random.default_rng(0)
    position, quat, vertices = rng.normal(size=(5, 3)), rng.normal(size=(5, 4)), rng.normal(size=(9, 3))
    content = pack_frame(LIVE, 7, 1.25, position, quat)
    assert len(content) == 24 + 5 * 28
    frame = unpack_frame(content)
    assert (frame.kind, frame.sequence, frame.time, frame.meshes) == (LIVE, 7, 1.25, {})
    assert np.allclose(frame.poses, np.hstack([position, quat]), atol=1e-6)
    both = unpack_frame(pack_frame(GHOST, 2, 0.5, position, quat, [vertices, 2 * vertices]))
    assert np.allclose(both.meshes[0], vertices, atol=1e-6)
    assert np.allclose(both.meshes[1], 2 * vertices, atol=1e-6)
    for wrong in (content[:-1], content + b"x", b"", content[:10]):
        with pytest.raises(MessageError, match="not a pose frame"):
            unpack_frame(wrong)

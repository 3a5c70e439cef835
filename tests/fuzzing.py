"""Mutations of valid files, and the importers that must read or refuse each in one line. tools/fuzz.py runs many of them.

A case is an importer's name and a number: the same two give the same file everywhere.
"""

import gzip
import io
import json
import random
import resource
import signal
import struct
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import manikin as mk
from manikin.characters.human import human
from manikin.checks import check_file
from manikin.clips.asf import read_amc
from manikin.clips.bvh import write_bvh
from manikin.clips.clip import load_clip, save_clip
from manikin.clips.source import read_motion, suspicions
from manikin.errors import ManikinError, OutputError
from manikin.motion.chain import clip_motion

# one case may take this long [s], and this much more memory than the process had before [MB]
SECONDS, MEGABYTES = 20.0, 600
FORMATS = ("npz", "json", "csv", "glb", "bvh", "usda")

ASF = """:version 1.10
:name small
:units
  mass 1.0
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name lfemur
    direction 0 -1 0
    length 7
    axis 0 0 90 XYZ
    dof rx ry rz
    limits (-160 20)
           (-10 20)
           (-10 20)
  end
  begin
    id 2
    name ltibia
    direction 0 -1 0
    length 8
    axis 0 0 20 ZYX
    dof rx
  end
  begin
    id 3
    name lfoot
    direction 0.1 -0.9 0.4
    length 2
    axis 0 0 0 XYZ
  end
:hierarchy
  begin
    root lfemur
    lfemur ltibia
    ltibia lfoot
  end
"""
MJCF = """<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="1 1 .1"/>
<body name="pelvis" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .05"/>
<body name="arm" pos=".1 .2 .3"><joint name="elbow"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body></body>
<body name="ball" pos="1 0 1"><freejoint/><geom size=".1"/></body></worldbody>
<equality><weld name="grip" body1="arm" body2="ball" active="false"/></equality>
<actuator><motor joint="elbow"/></actuator></mujoco>"""
SCENE = 'name = "fuzz"\n[character]\nmodel = "human"\n[facts.work]\ntask = "hands"\n[facts.time]\nsince = "a"\nuntil = "b"\n'


def recording() -> dict[str, Any]:
    """A small valid recording, as the arrays of its file."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    state = mujoco.mjtState.mjSTATE_INTEGRATION
    initial = np.zeros(mujoco.mj_stateSize(model, state))
    mujoco.mj_getState(model, data, initial, state)
    mujoco.mj_forward(model, data)
    rows: list[tuple[np.ndarray, np.ndarray]] = [(data.qpos.copy(), data.qvel.copy())]
    ctrl = np.linspace(0, 1, 40).reshape(-1, 1)
    for k, row in enumerate(ctrl):
        data.xfrc_applied[:] = 0
        data.xfrc_applied[1, 0] = 3.0 * (k == 5)
        data.ctrl[:] = row
        mujoco.mj_step(model, data)
        if k % 4 == 3:
            rows.append((data.qpos.copy(), data.qvel.copy()))
    step = np.arange(len(rows)) * 4
    meta = {
        "name": "fuzz", "scene": SCENE, "version": "0", "seed": 3, "timestep": 0.004, "fps": 62.5, "driven": [],
        "changes": [{"step": 40, "field": "body_mass", "index": 1, "value": 2.0}], "inputs": [{"step": 1, "kind": "drag"}],
        "events": [{"name": "a", "time": 0.0, "step": 0}, {"name": "b", "time": 0.1, "step": 25}],
        "characters": {"pelvis": ["pelvis", "arm"]}, "feet": [], "props": ["ball"], "ok": True, "reason": "",
        "facts": {"n": 1.0},
    }  # fmt: skip
    task = {f"task/hands/{c}": np.linspace(0, 1, len(rows)) for c in ("error", "force", "limit", "priority", "active")}
    return {
        "mjcf": np.array(MJCF), "meta": np.array(json.dumps(meta)), "initial": initial, "key_step": np.array([0]),
        "key_state": initial[None], "time": step * 0.004, "step": step, "qpos": np.array([q for q, _ in rows]),
        "qvel": np.array([v for _, v in rows]), "contact_force": np.zeros((len(rows), model.nbody, 3)), "ctrl": ctrl,
        "xfrc": np.array([[5.0, 1, 3, 0, 0, 0, 0, 0]]), "eq": np.zeros((0, 15)), **task,
    }  # fmt: skip


def packed(arrays: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


@cache
def valid(kind: str, folder: Path) -> tuple[bytes, ...]:
    """Valid files of a kind, small ones."""
    clip = load_clip("lift_knees")
    if kind == "bvh":
        write_bvh(clip_motion(clip, human(skin=False)), folder / "valid.bvh")
        lines = (folder / "valid.bvh").read_text().splitlines()
        at = lines.index("Frames: 97")
        return ("\n".join([*lines[:at], "Frames: 30", *lines[at + 1 : at + 32]]).encode() + b"\n",)
    if kind == "asf":
        return (ASF.encode(),)
    if kind == "amc":
        rows = [f"{t + 1}\nroot 1 {t} 3 0 {t} 0\nlfemur {t} 0 5\nltibia {t}" for t in range(12)]
        return (("#!OML:ASF\n:FULLY-SPECIFIED\n:DEGREES\n" + "\n".join(rows) + "\n").encode(),)
    if kind == "npz":
        save_clip(clip, folder / "valid.npz")
        return packed(recording()), (folder / "valid.npz").read_bytes()
    scenes = Path(mk.__file__).parent / "scenes" / "files"
    return tuple((scenes / f"{name}.toml").read_bytes() for name in ("lift", "chain", "lamp", "stand"))


# --- mutations

NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e-308",
    "5e-324",
    "0",
    "-0",
    "-1",
    "1e999",
    "9" * 5000,
    "0x10",
    "1_000",
    "١٢",
    "1e9",
    "-1e9",
    "18446744073709551616",
    "2147483648",
    ".",
    "+",
    "--1",
    "1,5",
]
WORDS = ["", "{", "}", "[" * 3000, "(" * 200_000, "a" * 300_000, "\x00", "\x1b[2J", "\ud7ff", "\u2028", "\ufeff", "é", "%s%n",
         "../../etc/passwd",
         "'''", '"', "#", "=", ":", "end", "begin", "JOINT", "ROOT", "MOTION", "End Site", "name", "root"]  # fmt: skip


def _words(rng: random.Random, text: str) -> str:
    """Some words of some lines replaced."""
    lines = text.split("\n")
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(lines))
        words = lines[at].split(" ")
        filled = [k for k, w in enumerate(words) if w] or [0]
        words[rng.choice(filled)] = rng.choice(NUMBERS if rng.random() < 0.6 else WORDS)
        lines[at] = " ".join(words)
    return "\n".join(lines)


def _digits(rng: random.Random, text: str) -> str:
    """Numbers changed that remain numbers: most such files can be read."""
    spots = [k for k, c in enumerate(text) if c.isascii() and c.isdigit()]
    out = list(text)
    for at in rng.sample(spots, min(len(spots), rng.choice([1, 3, 30, 300]))):
        out[at] = rng.choice("0123456789")
    lines = "".join(out).split("\n")
    if rng.random() < 0.3:
        at = rng.randrange(len(lines))
        lines[at] = " ".join(rng.choice(["0", "1e-7", "-90", "1e6", w]) if _plain(w) else w for w in lines[at].split(" "))
    return "\n".join(lines)


def _plain(word: str) -> bool:
    return word.replace(".", "").replace("-", "").isdigit()


def _lines(rng: random.Random, text: str) -> str:
    """Lines removed, doubled, moved, joined, repeated very often."""
    lines = text.split("\n")
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(6)
        if how == 0 and len(lines) > 1:
            del lines[at]
        elif how == 1:
            lines.insert(at, lines[other])
        elif how == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif how == 3:
            lines[at : at + 2] = [" ".join(lines[at : at + 2])]
        elif how == 4:
            lines[at:at] = [lines[at]] * rng.choice([10, 1000])
        else:
            first, last = sorted((at, other))
            lines[first:first] = lines[first : last + 1]
    return "\n".join(lines)


def _long(rng: random.Random, text: str) -> str:
    """Very long lines, deep nesting."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    how = rng.randrange(5)
    if how == 0:
        lines[at] += " 1.0" * rng.choice([1000, 300_000])
    elif how == 1:
        lines[at] = lines[at] + "x" * 1_200_000
    elif how == 2:
        lines[at:at] = [f"JOINT j{k}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation" for k in range(rng.choice([400, 3000]))]
    elif how == 3:
        lines[at:at] = ["a = " + "[" * rng.choice([100, 3000, 50_000])]
    else:
        lines[at:at] = [f"begin\nname b{k}\ndirection 0 1 0\nlength 1\nend" for k in range(3000)]
    return "\n".join(lines)


def _bytes(rng: random.Random, content: bytes) -> bytes:
    """Bits flipped, pieces cut out, doubled or overwritten, the end cut off."""
    out = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8, 40])):
        if not out:
            break
        at, how = rng.randrange(len(out)), rng.randrange(6)
        piece = slice(at, at + rng.choice([1, 4, 16, 200]))
        if how < 2:
            out[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            del out[piece]
        elif how == 3:
            out[at:at] = out[piece]
        elif how == 4:
            out[piece] = rng.randbytes(len(out[piece]))
        else:
            out[piece] = rng.choice([b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x7f\xff\xff\xff", b"\xed\xa0\x80"])
    return bytes(out[: rng.randrange(len(out) + 1)]) if rng.random() < 0.2 else bytes(out)


def text_case(rng: random.Random, content: bytes) -> bytes:
    """A mutated text file, sometimes in another encoding."""
    how = rng.random()
    if how < 0.25:
        return _bytes(rng, content)
    text = content.decode()
    for _ in range(rng.choice([1, 1, 2])):
        text = rng.choice([_words, _digits, _digits, _digits, _lines, _long])(rng, text)
    encoding = rng.choice(["utf-8"] * 20 + ["utf-16", "utf-8-sig", "latin-1", "utf-32-be"])
    return text.encode(encoding, "replace")


HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "(" * 900,
    "{'descr': '<U9', 'fortran_order': True, 'shape': (), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "{" * 3000,
    "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 3000 + ",), }",
    "-" * 3000 + "1",
    "{'descr': '<f8', 'shape': (3",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1073741824), }",
    "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
]


def _damaged_header(rng: random.Random, content: bytes) -> bytes:
    """One array's header replaced or mutated, inside a sound archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        names = source.namelist()
        chosen = rng.choice(names)
        for name in names:
            data = source.read(name)
            if name == chosen and len(data) > 12:
                length = struct.unpack_from("<H", data, 8)[0]
                head, body = data[10 : 10 + length], data[10 + length :]
                how = rng.randrange(4)
                if how == 0:
                    head = rng.choice(HEADERS).encode()
                elif how == 1:
                    head = _bytes(rng, head)
                elif how == 2:
                    body = _bytes(rng, body)
                else:
                    head = head.replace(rng.choice([b"f8", b"i8", b"<"]), rng.choice([b"f4", b"c16", b"O", b">", b"U2", b"?"]))
                head = head[:60_000]
                data = data[:8] + struct.pack("<H", len(head)) + head + body
            target.writestr(rng.choice([name] * 30 + [f"../{name}", name.upper()]), data)
    return out.getvalue()


ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    float("inf"),
    10**300,
    "",
    "x" * 2000,
    "\ud800",
    "a\nb\t\x1b\x7f",
    "é/ö",
    [],
    {},
    [[[[]]]],
    {"a": 1},
    ["pelvis"],
    ["arm", "pelvis"],
    ["nobody"],
    {"pelvis": []},
    {"pelvis": "arm"},
    {"ben\x01": ["pelvis", "arm"]},
    {"a": ["pelvis"], "b": ["arm"]},
    [{"step": 0}],
    [{"step": 1, "name": "a", "time": "now"}],
    'name = "x"\n[facts]\nf = 3',
    'name = "x"\n[facts.f]\ntask = "none"',
    'name = "x"\n[camera]\nazimuth = "north"',
    "a = " + "[" * 2000,
    "n = " + "9" * 5000,
    1e-300,
    2**70,
]
MODELS = [
    ('name="arm"', 'name="my arm"'),
    ('name="arm"', 'name="é&#10;ö"'),
    ('name="ball"', ""),
    ('name="pelvis"', 'name="ball2"'),
    ("</mujoco>", "<mujoco>"),
    ("<mujoco>", '<mujoco><visual><global offwidth="100" offheight="80"/></visual>'),
    ("0.004", "0.002"),
    ("0.004", "nan"),
    ("<geom ", '<geom rgba="nan 0 0 1" '),
    ("<mujoco>", '<mujoco><compiler meshdir="/etc"/>'),
    ("<mujoco>", "<mujoco>" + "<!-- - -->" * 500),
    ('size=".1 .2 .05"', 'size="1e300 1e300 1e300"'),
    ("<worldbody>", "<worldbody>" + "<body>" * 3000),
    ("motor", "plugin"),
    (MJCF, "<mujoco/>"),
    ('<actuator><motor joint="elbow"/></actuator>', ""),
    ('<joint name="elbow"/>', '<joint name="elbow" type="ball"/>'),
]


def _odd_recording(rng: random.Random) -> bytes:
    """A sound file with something odd in its meta, its arrays or its model."""
    arrays = recording()
    meta = json.loads(str(arrays["meta"]))
    for _ in range(rng.choice([1, 1, 1, 2])):
        how = rng.randrange(4)
        if how == 0:
            key = rng.choice([*meta, "new\ud800"])
            meta[key] = rng.choice(ODD)
            if rng.random() < 0.2:
                del meta[key]
        elif how == 1:
            rows = meta.get(rng.choice(["changes", "inputs", "events"]))
            if rows and isinstance(rows, list) and isinstance(rows[0], dict):
                rows[0][rng.choice([*rows[0]])] = rng.choice(ODD)
        elif how == 2:
            name = rng.choice([n for n in arrays if n not in ("mjcf", "meta")])
            arrays[name] = _odd_array(rng, np.asarray(arrays[name]))
            if rng.random() < 0.15:
                arrays[rng.choice([f"{name}/x", "task/a b/error", "task/é\n/force", "task//error", "task/x"])] = arrays.pop(
                    name
                )
        else:
            arrays["mjcf"] = np.array(str(arrays["mjcf"]).replace(*rng.choice(MODELS)))
    arrays["meta"] = np.array(json.dumps(meta))
    return packed(arrays)


def _odd_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    array = array.copy()
    how = rng.randrange(9)
    if how == 0 and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice([-1, 0, 1e9] + [np.nan, np.inf, 1e308] * (array.dtype.kind == "f"))
    elif how == 1:
        return array[:-1]
    elif how == 2:
        return array.astype(rng.choice([np.float32, np.int8, np.complex128, np.bool_, ">f8", "U5", np.uint64, np.float16]))
    elif how == 3:
        return array.reshape(array.shape + (1,))
    elif how == 4:
        return array.ravel()
    elif how == 5:
        return np.zeros((rng.choice([0, 10**9]), 0))
    elif how == 6:
        return array[::-1]
    elif how == 7:
        return np.repeat(array, 2, axis=0) if array.ndim else array
    else:
        array = array + rng.choice([1e-12, 1, -1e6])
    return array


def make(kind: str, number: int, folder: Path) -> Path:
    """Write the file of a case."""
    rng = random.Random(f"{kind} {number}")
    content = rng.choice(valid(kind, folder))
    if kind == "npz":
        how = rng.random()
        content = _bytes(rng, content) if how < 0.25 else _damaged_header(rng, content) if how < 0.5 else _odd_recording(rng)
    else:
        content = text_case(rng, content)
    path = folder / f"case.{kind}"
    if kind in ("bvh", "asf", "amc"):
        packed_too = rng.random() < 0.2
        (folder / f"case.{kind}").unlink(missing_ok=True)
        (folder / f"case.{kind}.gz").unlink(missing_ok=True)
        if packed_too:
            content = gzip.compress(content, 1)
            content = _bytes(rng, content) if rng.random() < 0.3 else content
            path = folder / f"case.{kind}.gz"
    path.write_bytes(content)
    return path


# --- importers


def _motion(path: Path, folder: Path) -> None:
    suspicions(read_motion(path), path.name)


def _asf(path: Path, folder: Path) -> None:
    motion = folder / "steady.amc"
    if not motion.exists():
        motion.write_bytes(valid("amc", folder)[0])
    read_amc(motion, path)


def _amc(path: Path, folder: Path) -> None:
    skeleton = folder / "steady.asf"
    if not skeleton.exists():
        skeleton.write_bytes(valid("asf", folder)[0])
    suspicions(read_motion(path, skeleton=skeleton), path.name)


def _scene(path: Path, folder: Path) -> None:
    mk.load_scene(str(path))


def _npz(path: Path, folder: Path) -> None:
    """What passes as a recording must also be saved in every format."""
    found = check_file(path)
    if found["kind"] != "recording" or not found["ok"]:
        return
    loaded = mk.load_recording(path)
    for kind in FORMATS:
        try:
            mk.save(loaded, folder / f"saved.{kind}")
        except OutputError as error:
            # BVH holds characters with bones of constant length, and nothing else
            if kind != "bvh" or not any(word in str(error) for word in ("BVH holds characters", "BVH keeps bones")):
                raise AssertionError(f"it passes check, and is not saved as .{kind}: {error}") from error
    mk.load_recording(folder / "saved.npz")


IMPORTERS: dict[str, Callable[[Path, Path], None]] = {
    "toml": _scene, "bvh": _motion, "asf": _asf, "amc": _amc, "npz": _npz,
}  # fmt: skip


class Outcome(NamedTuple):
    """How a case ended: "read", "refused", or what is wrong with how it ended."""

    kind: str
    number: int
    ended: str
    seconds: float

    @property
    def bad(self) -> bool:
        return self.ended not in ("read", "refused")


@cache
def _warm(kind: str, folder: Path) -> None:
    """Libraries are loaded, and start their threads, before memory is limited."""
    path = folder / f"warm.{kind}"
    path.write_bytes(valid(kind, folder)[0])
    IMPORTERS[kind](path, folder)


def run_case(kind: str, number: int, folder: Path) -> Outcome:
    """Read the file of a case."""
    _warm(kind, folder)
    path = make(kind, number, folder)
    began = time.perf_counter()
    ended = "read"
    try:
        with warnings.catch_warnings(), limited():
            warnings.simplefilter("error")
            IMPORTERS[kind](path, folder)
    except ManikinError as error:
        message = str(error)
        ended = "refused"
        if "\n" in message or not message.isprintable() or len(message) > 2000:
            ended = f"message of {len(message)} characters: {message[:200]!r}"
    except (Exception, RecursionError, MemoryError) as error:
        ended = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return Outcome(kind, number, ended, time.perf_counter() - began)


@contextmanager
def limited() -> Iterator[None]:
    """Bounded memory and time: what goes beyond raises."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS:g} s")

    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    timed = threading.current_thread() is threading.main_thread()
    resource.setrlimit(resource.RLIMIT_DATA, (used + (MEGABYTES << 20), hard))
    before = signal.signal(signal.SIGALRM, late) if timed else None
    if timed:
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))

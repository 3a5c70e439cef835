"""The server: who is admitted, what is refused, downloads and uploads, slow pages, and a kill in the middle of a take."""

import io
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import httpx
import numpy as np
import pytest
from raw_client import Page
from websockets import Origin
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import manikin
from manikin.playback import replay
from manikin.scenes.scene import load_scene
from manikin.studio import messages as m
from manikin.studio.clients import Client
from manikin.studio.journal import Past
from manikin.studio.server import MAX_UPLOAD, Running, Studio, listen
from manikin.studio.takes import TakeFolder


def get(served: Running, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{served.port}{path}", headers={"x-manikin-token": served.studio.token, **headers})


def alive(served: Running) -> bool:
    return get(served, "/api/scenes").status_code == 200


# --- who is admitted


@pytest.mark.parametrize(
    "path", ["/api/scenes", "/api/takes", "/model.glb", "/api/takes/x/export.npz", "/api/scenes/lift/picture"]
)
def test_without_the_token_nothing_is_answered(served: Running, path: str) -> None:
    for headers in ({"x-manikin-token": ""}, {"x-manikin-token": "wrong"}, {"x-manikin-token": served.studio.token + "x"}):
        assert get(served, path, **headers).status_code == 401
    assert alive(served)


def test_the_token_in_the_address_opens_too(served: Running) -> None:
    assert httpx.get(f"http://127.0.0.1:{served.port}/api/scenes?token={served.studio.token}").status_code == 200
    assert served.address.endswith(f"/?token={served.studio.token}")
    assert len(served.studio.token) >= 32


@pytest.mark.parametrize(
    ("origin", "token"),
    [("http://evil.example", None), ("http://127.0.0.1:1", None), ("null", None), (None, "wrong"), (None, "")],
)
def test_a_foreign_page_or_a_wrong_token_gets_no_websocket(served: Running, origin: str | None, token: str | None) -> None:
    given = served.studio.token if token is None else token
    own = f"http://127.0.0.1:{served.port}"
    url = f"ws://127.0.0.1:{served.port}/ws?token={given}"
    with pytest.raises(InvalidStatus) as refused, connect(url, origin=Origin(own if origin is None else origin)):
        pass
    assert refused.value.response.status_code == 403
    assert not served.studio.clients
    assert alive(served)


def test_a_foreign_origin_or_host_gets_no_answer_either(served: Running) -> None:
    assert get(served, "/api/takes", origin="http://evil.example").status_code == 403
    # a name that was made to point here
    assert get(served, "/api/takes", host=f"evil.example:{served.port}").status_code == 403
    assert get(served, "/api/takes", origin=f"http://127.0.0.1:{served.port}").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/api/takes/..%2F..%2Fsecret/export.npz", "/api/takes/%2Fetc%2Fpasswd/export.npz", "/..%2F..%2Fpyproject.toml",
     "/%2e%2e/%2e%2e/server.py", "/static/../server.py", "/api/scenes/..%2Flift/picture"],
)  # fmt: skip
def test_nothing_outside_the_folders_is_given(served: Running, path: str) -> None:
    (served.studio.folder.path.parent / "secret.journal").write_bytes(b"secret")
    answer = get(served, path)
    assert answer.status_code in (400, 404)
    assert b"secret" not in answer.content
    assert alive(served)


# --- what is refused


def test_malformed_messages_are_answered_and_the_rest_goes_on(page: Page, served: Running) -> None:
    page.socket.send("noise")
    assert "not JSON" in page.wait("error")["message"]
    page.socket.send(b"\x00\x01")
    assert "not JSON" in page.wait("error")["message"]
    page.socket.send('{"kind": "knob", "path": "x", "value": 1e400}')
    assert page.wait("error")["about"] == "knob"
    page.say(m.Play())
    assert "no scene is open" in page.wait("error", lambda e: e["about"] == "play")["message"]
    page.say(m.Open("lift"))
    assert page.wait("model")["scene"] == "lift"


def test_a_message_over_the_limit_ends_that_connection_only(page: Page, served: Running) -> None:
    other = Page(served)
    page.socket.send("x" * (m.MAX_TEXT + 10))
    with pytest.raises(ConnectionClosed) as closed:
        page.wait("nothing of the kind")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009
    other.say(m.Open("stand"))
    assert other.wait("model")["scene"] == "stand"
    other.close()


def test_a_gigabyte_is_refused_without_being_read(served: Running) -> None:
    """As a frame that says how long it is, and as an upload that says so, or does not."""
    head = f"GET /ws?token={served.studio.token} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nUpgrade: websocket\r\n"
    head += "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as raw:
        raw.sendall(head.encode())
        assert b" 101 " in raw.recv(200)
        raw.sendall(b"\x81\xff" + (1 << 30).to_bytes(8, "big") + b"\x00" * 4 + b"x" * 1000)
        answer = b""
        while chunk := raw.recv(65536):
            answer += chunk
    assert (1009).to_bytes(2, "big") in answer
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as raw:
        head = f"POST /api/takes HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nx-manikin-token: {served.studio.token}\r\n"
        raw.sendall(f"{head}Content-Length: {1 << 30}\r\n\r\n".encode() + b"x" * 1000)
        assert b" 413 " in raw.recv(4096)
    assert alive(served)


def test_an_upload_that_does_not_say_how_long_it_is_is_stopped(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("manikin.studio.server.MAX_UPLOAD", 100_000)
    sent = []

    def endless():  # type: ignore[no-untyped-def]
        for k in range(1000):
            sent.append(k)
            yield b"x" * 10_000

    headers = {"x-manikin-token": served.studio.token}
    try:
        status = httpx.post(f"http://127.0.0.1:{served.port}/api/takes", content=endless(), headers=headers).status_code
    except httpx.WriteError:
        # the server hung up while we were still sending
        status = 413
    assert status == 413
    assert MAX_UPLOAD > 100_000
    assert alive(served)
    assert not served.studio.folder.ids()


class Trap:
    """Leaves a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def test_a_pickle_is_refused_and_never_opened(served: Running, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    inside = io.BytesIO()
    np.save(inside, np.array([Trap(trap)], object), allow_pickle=True)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("mjcf.npy", inside.getvalue())
        archive.writestr("meta.npy", inside.getvalue())
    for content in (packed.getvalue(), pickle.dumps(Trap(trap)), b"", b"noise", inside.getvalue()):
        headers = {"x-manikin-token": served.studio.token}
        answer = httpx.post(f"http://127.0.0.1:{served.port}/api/takes", content=content, headers=headers)
        assert answer.status_code == 400
        assert "the upload" in answer.json()["error"]
        assert str(tmp_path) not in answer.text
    assert not trap.exists()
    assert not served.studio.folder.ids()
    assert alive(served)


def test_a_model_that_names_files_is_refused(served: Running, tmp_path: Path) -> None:
    session = served.studio.session
    session.ask(lambda: [session.handle(m.Open("stand")), session.handle(m.Step(20))]).result(60)
    take = session.take
    session.ask(lambda: session.handle(m.TakeSave(take))).result(60)
    with np.load(served.studio.folder.file(take, ".npz")) as saved:
        arrays = dict(saved)
    secret = tmp_path / "secret.xml"
    secret.write_text("<mujoco><worldbody><body/></worldbody></mujoco>")
    arrays["mjcf"] = np.array(str(arrays["mjcf"]).replace("<worldbody>", f'<include file="{secret}"/><worldbody>', 1))
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    headers = {"x-manikin-token": served.studio.token}
    answer = httpx.post(f"http://127.0.0.1:{served.port}/api/takes", content=packed.getvalue(), headers=headers)
    assert answer.status_code == 400
    assert "it has <include>" in answer.json()["error"]
    assert served.studio.folder.ids() == [take]
    assert alive(served)


def test_a_file_that_unpacks_to_more_than_memory_is_refused(served: Running) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("ctrl.npy", "w") as entry:
        for _ in range(1100):
            entry.write(bytes(1024 * 1024))
    headers = {"x-manikin-token": served.studio.token}
    answer = httpx.post(f"http://127.0.0.1:{served.port}/api/takes", content=packed.getvalue(), headers=headers, timeout=30)
    assert answer.status_code == 400
    assert "unpack" in answer.json()["error"]
    assert alive(served)


# --- what it gives


def test_scenes_takes_model_and_exports(page: Page, served: Running, folder: TakeFolder) -> None:
    cards = get(served, "/api/scenes").json()
    assert "lift" in [c["name"] for c in cards]
    assert all(c["title"] and c["group"] and c["description"] for c in cards)
    for card in cards:
        assert get(served, card["picture"]).headers["content-type"] == "image/webp", "run tools/make_studio_pictures.py"
    assert get(served, "/model.glb").status_code == 404
    page.say(m.Open("lift"))
    model = page.wait("model")
    glb = get(served, model["glb"])
    assert glb.content[:4] == b"glTF"
    nodes = json.loads(glb.content[20 : 20 + int.from_bytes(glb.content[12:16], "little")])["nodes"]
    assert {b["name"] for b in model["bodies"]} - {"world"} <= {n["name"] for n in nodes}
    page.say(m.Step(200))
    page.wait("status", lambda s: s["time"] > 0.39)
    take = model["take"]
    page.say(m.TakeName(take, "a/b: mine"))
    page.wait("takes", lambda t: t["takes"][0]["name"] == "a/b: mine")
    for kind in ("glb", "bvh", "npz"):
        answer = get(served, f"/api/takes/{take}/export.{kind}")
        assert answer.status_code == 200, answer.text
        assert f'filename="a_b_mine.{kind}"' in answer.headers["content-disposition"]
        assert len(answer.content) > 1000
    assert get(served, f"/api/takes/{take}/export.exe").status_code == 404
    refused = get(served, f"/api/takes/{take}/export.toml")
    assert refused.status_code == 400
    assert "creatures under direct control" in refused.json()["error"]
    assert get(served, "/api/takes/nothing/export.glb").status_code == 404
    # and back in
    headers = {"x-manikin-token": served.studio.token}
    url = f"http://127.0.0.1:{served.port}/api/takes?name=again"
    added = httpx.post(url, content=get(served, f"/api/takes/{take}/export.npz").content, headers=headers)
    assert added.status_code == 201
    listed = {t["id"]: t["name"] for t in get(served, "/api/takes").json()["takes"]}
    assert listed[added.json()["take"]] == "again"


def test_the_page_is_served_or_said_to_be_missing(served: Running) -> None:
    answer = httpx.get(f"http://127.0.0.1:{served.port}/?token=any")
    assert answer.status_code in (200, 503)
    assert httpx.get(f"http://127.0.0.1:{served.port}/nothing.js").status_code == 404


def test_a_drag_reaches_physics_and_comes_back(page: Page, served: Running) -> None:
    page.say(m.Open("stand"))
    page.wait("model")
    page.say(m.Play())
    page.wait("status", lambda s: s["time"] > 0.1)
    page.say(m.Grab("thorax", "push"))
    page.say(m.Drag((0.4, 0.0, 1.3), stamp=7.0))
    received = page.wait("input", lambda i: i["stamp"] == 7.0 and i["newtons"] > 10)
    assert received["mode"] == "push"
    assert received["force"][0] > 10
    page.say(m.Release())
    assert page.wait("input", lambda i: not i["held"])["target"] == "thorax"
    assert len(page.binary) > 3


def test_two_pages_see_the_same_and_one_that_comes_late_knows_all(page: Page, served: Running) -> None:
    page.say(m.Open("stand"))
    model = page.wait("model")
    other = Page(served)
    assert other.wait("model") == model
    other.wait("takes")
    other.say(m.Why(True))
    assert page.wait("why_report")["tasks"]
    other.close()


def test_a_page_that_opens_a_scene_does_not_switch_the_others(
    page: Page, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("manikin.studio.server.BACK", 0.3)
    page.say(m.Open("stand"))
    first = page.wait("model")
    page.say(m.Play())
    other = Page(served)
    other.wait("model")
    other.say(m.Open("lamp"))
    second = other.wait("model", lambda x: x["scene"] == "lamp", 120)
    assert len(served.studio.sessions) == 2
    # each has its own run, its own geometry, and may hold something in it
    other.say(m.Play())
    other.say(m.Grab("head", "task"))
    assert other.wait("input", lambda i: i["held"], 120)["target"] == "head"
    page.say(m.Grab("hand_l", "task"))
    assert page.wait("input", lambda i: i["held"])["target"] == "hand_l"
    status = page.wait("status")
    assert (status["take"], status["playing"]) == (first["take"], True)
    assert b"shank_l" in get(served, first["glb"]).content
    assert b"shank_l" not in get(served, second["glb"]).content
    # both are in the list of takes as being recorded; neither page can delete the other's
    page.say(m.TakeDelete(second["take"]))
    assert "recorded on another page" in page.wait("error")["message"]
    listed = get(served, "/api/takes").json()["takes"]
    assert {t["id"] for t in listed if t["live"]} == {first["take"], second["take"]}
    # a reload finds the same run; when nobody comes back it ends
    other.close()
    again = Page(served, second["take"])
    assert again.wait("model")["scene"] == "lamp"
    again.close()
    while len(served.studio.sessions) > 1:
        time.sleep(0.02)
    assert served.studio.session.take == first["take"]
    assert second["take"] not in served.studio.folder.recording
    late = Page(served, second["take"])
    assert late.wait("model")["scene"] == "stand"
    late.close()


def test_a_scene_of_ones_own_is_known_to_every_page(page: Page, served: Running) -> None:
    own = load_scene("lamp").model_copy(update={"name": "my_lamp"})
    session = served.studio.session
    session.ask(lambda: session.open_as(own)).result(120)
    assert not page.wait("model")["scripted"]
    other = Page(served)
    other.wait("model")
    # a name that nobody knows strands no page
    other.say(m.Open("my_lampp"))
    assert "no scene is called" in other.wait("error")["message"]
    assert len(served.studio.sessions) == 1
    other.say(m.Open("my_lamp", True))
    assert other.wait("model", lambda x: x["scripted"], 60)["scene"] == "my_lamp"
    assert len(served.studio.sessions) == 2
    assert not session.live.scene.steps
    other.close()


def nobody_there(served: Running) -> None:
    """Wait until the session has noticed that the last page is closed."""
    session = served.studio.session
    while session.audience or session._away is None:
        time.sleep(0.01)


def test_without_a_page_there_is_no_work(page: Page, served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    page.say(m.Open("stand"))
    page.say(m.Why(True))
    page.say(m.Play())
    page.wait("why_report")
    page.close()
    nobody_there(served)
    session = served.studio.session
    said: list[str] = []
    session.ask(lambda: monkeypatch.setattr(session, "send", lambda key, content: said.append(key))).result(20)
    path = session.folder.file(session.take)
    before, size, busy = session.live.time, path.stat().st_size, time.process_time()
    time.sleep(1.5)
    assert session.live.time == before, "physics pauses"
    assert path.stat().st_size == size, "nothing is recorded"
    assert time.process_time() - busy < 0.3, "and nothing is made ready for nobody"
    assert not said
    session.ask(lambda: monkeypatch.undo()).result(20)
    # a page that comes back soon, as after a reload, finds it going on
    again = Page(served)
    assert again.wait("status", lambda s: s["playing"] and s["time"] > before)
    assert again.wait("why_report", lambda w: w["time"] > before)["tasks"]
    again.close()


def test_after_a_longer_absence_it_stays_paused(page: Page, served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("manikin.studio.session.BACK", 0.0)
    page.say(m.Open("stand"))
    page.say(m.Play())
    page.wait("status", lambda s: s["time"] > 0)
    page.close()
    nobody_there(served)
    at = served.studio.session.live.time
    again = Page(served)
    status = again.wait("status")
    assert (status["playing"], status["time"]) == (False, at)
    again.close()


def test_one_page_holds_what_it_grabbed_and_nobody_else_moves_it(page: Page, served: Running) -> None:
    page.say(m.Open("stand"))
    page.say(m.Play())
    page.wait("status", lambda s: s["playing"])
    page.say(m.Grab("hand_r", "task"))
    page.say(m.Drag((0.4, -0.3, 1.1)))
    held = page.wait("input", lambda i: i["held"] and i["goal"][2] == pytest.approx(1.1, abs=1e-6))
    other = Page(served)
    other.wait("model")
    # the other page sees the drag, and can neither steal, move nor release it
    assert other.wait("input")["target"] == held["target"]
    other.say(m.Grab("hand_l", "task"))
    assert other.wait("error")["message"] == "another page holds 'hand_r'"
    other.say(m.Drag((0.0, 0.0, 2.0)))
    other.say(m.Release())
    assert other.wait("input", lambda i: i["held"])["target"] == "hand_r"
    page.say(m.Knob("nothing", 1.0))
    # the first error that its owner hears is its own
    assert page.wait("error")["about"] == "knob"
    page.say(m.Release())
    other.wait("input", lambda i: not i["held"])
    other.say(m.Grab("hand_l", "task"))
    assert other.wait("input", lambda i: i["held"])["target"] == "hand_l"
    other.close()


def test_what_a_page_held_is_let_go_when_it_closes(page: Page, served: Running) -> None:
    page.say(m.Open("stand"))
    page.say(m.Play())
    other = Page(served)
    other.wait("status", lambda s: s["playing"])
    other.say(m.Grab("hand_r", "push"))
    page.wait("input", lambda i: i["held"])
    other.close()
    page.wait("input", lambda i: not i["held"])
    assert served.studio.session.live.grip is None


def test_a_page_that_does_not_read_drops_frames_and_slows_nobody(page: Page, served: Running) -> None:
    lazy = socket.create_connection(("127.0.0.1", served.port))
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    head = f"GET /ws?token={served.studio.token} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nUpgrade: websocket\r\n"
    head += "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    lazy.sendall(head.encode())
    page.say(m.Open("stand"))
    page.wait("model")
    page.say(m.Why(True))
    page.say(m.Play())
    # more than the buffers on the way hold: the sockets take a few megabytes
    while len(served.studio.clients) < 2:
        time.sleep(0.01)
    filler = b"x" * 1_000_000
    for k in range(30):
        served.studio._send(f"filler {k}", filler, served.studio.session)
    page.wait("status", lambda s: s["time"] > 0.3, 60)
    slow = max(served.studio.clients, key=lambda c: c.dropped)
    assert slow.dropped > 5
    assert len(slow.slots) <= 64
    lazy.close()
    page.wait("status", lambda s: s["time"] > 0.4)


def test_what_is_said_after_the_welcome_comes_after_it(folder: TakeFolder) -> None:
    """Both wait to be handed over: the older must not replace the newer."""

    class Later:
        def call_soon_threadsafe(self, work: object) -> None:
            pass

    studio = Studio(folder)
    studio._loop = Later()  # type: ignore[assignment]
    client = Client()
    client.session = studio.session
    studio.clients.add(client)
    studio.session.handle(m.Open("stand"))
    studio._greet(studio.session, client)
    studio.session.handle(m.Open("lift"))
    studio._offer()
    assert json.loads(client.slots["model"])["scene"] == "lift"
    assert json.loads(client.slots["status"])["step"] == ""
    studio.session._close_take()


def test_the_take_that_is_being_recorded_is_exported_up_to_now(page: Page, served: Running) -> None:
    page.say(m.Open("stand"))
    page.say(m.Step(37))
    page.wait("status", lambda s: s["length"] > 0.07)
    answer = get(served, f"/api/takes/{served.studio.session.take}/export.npz")
    with np.load(io.BytesIO(answer.content)) as saved:
        assert len(saved["ctrl"]) == 37
    assert 'filename="stand.npz"' in answer.headers["content-disposition"]


def test_an_impossible_port_is_reported() -> None:
    with pytest.raises(manikin.ManikinError, match="65535"):
        listen("127.0.0.1", 99999)


def test_a_taken_port_is_reported() -> None:
    with listen("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(manikin.ManikinError, match="--port"):
            listen("127.0.0.1", first.getsockname()[1])


# --- a kill


KILLED = """
import sys, time
from pathlib import Path
from manikin.studio.server import Running, Studio
from manikin.studio.takes import TakeFolder
from manikin.studio import messages as m

with Running(Studio(TakeFolder(Path(sys.argv[1])))) as running:
    session = running.studio.session
    session.put(m.Open("stand"))
    session.put(m.Play())
    while True:
        time.sleep(0.02)
        if session.live is not None:
            print(session.live.time, flush=True)
"""


def test_a_kill_loses_at_most_the_last_second(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(manikin.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    reached = 0.0
    assert process.stdout is not None
    for line in process.stdout:
        reached = float(line)
        if reached > 1.6:
            os.kill(process.pid, signal.SIGKILL)
            break
    # what was still on its way
    reached = max([reached, *(float(t) for t in process.stdout.read().split("\n")[:-1])])
    process.stdout.close()
    process.wait()
    folder = TakeFolder(tmp_path)
    (take,) = folder.ids()
    info = folder.info(take)
    assert info is not None
    assert reached - 1.0 < info.seconds <= reached + 0.1
    recording = Past(folder.known(take)).recording()
    assert recording.meta["reason"] == "cut off"
    assert replay(recording).difference <= 1e-9

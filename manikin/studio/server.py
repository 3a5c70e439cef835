"""The studio's server: one port on this machine for the page, its files, a websocket and downloads.

It listens on the loopback address and answers only requests with the token. Browsers let any page open a websocket, so its
Origin is checked.
"""

import asyncio
import collections
import contextlib
import re
import secrets
import socket
import tempfile
import threading
import tomllib
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import uvicorn
import websockets
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from manikin.errors import InputError, ManikinError, OutputError
from manikin.scenes.scene import shipped
from manikin.studio.clients import Client
from manikin.studio.journal import Past
from manikin.studio.messages import Error, MessageError, Open, dump, kind_of, parse
from manikin.studio.saved import write_take
from manikin.studio.session import BACK, Session
from manikin.studio.takes import TakeFolder
from manikin.studio.wire import Wire

STATIC = Path(__file__).parent / "static"
PICTURES = Path(__file__).parent / "pictures"
# the largest recording that may be uploaded [bytes]
MAX_UPLOAD = 256 * 1024 * 1024
EXPORTS = {
    ".glb": "model/gltf-binary", ".bvh": "text/plain", ".mp4": "video/mp4", ".npz": "application/octet-stream",
    ".toml": "application/toml",
}  # fmt: skip


class Studio:
    """The sessions, their clients and the application that serves them.

    Pages that look at the same run share a session. A page that opens another scene while others look on gets one of its own.
    """

    def __init__(self, folder: TakeFolder, token: str | None = None, anywhere: bool = False) -> None:
        self.folder = folder
        self.token = token or secrets.token_urlsafe(24)
        self.anywhere = anywhere  # whether other machines may connect, by whatever name they know this one
        self.clients: set[Client] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        # messages from the session's thread, to all clients or to one
        self._passed: collections.deque[tuple[str, str | bytes, Session, Client | None]] = collections.deque()
        self._called = False  # whether the loop has been asked to hand them over
        # sessions that end once nobody has come back to them
        self._leaving: dict[Session, asyncio.TimerHandle] = {}
        # the first one stays, and is where a page without a past begins
        self.sessions: list[Session] = [self._new_session()]
        routes = [
            Route("/api/scenes", self._guarded(self._scenes)),
            Route("/api/scenes/{name}/picture", self._guarded(self._picture)),
            Route("/api/takes", self._guarded(self._takes)),
            Route("/api/takes", self._guarded(self._upload), methods=["POST"]),
            Route("/api/takes/{take}/export{kind}", self._guarded(self._export)),
            Route("/model.glb", self._guarded(self._model)),
            Route("/", self._page),
            Route("/{path:path}", self._file),
        ]
        self.app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={ManikinError: _refuse})

    @property
    def session(self) -> Session:
        """The first session."""
        return self.sessions[0]

    def _new_session(self) -> Session:
        session = Session(self.folder, lambda key, content: self._send(key, content, session))
        session.audience = False
        return session

    def _session_of(self, take: str | None) -> Session:
        """The session in which a take is shown, or the first one."""
        return next((s for s in self.sessions if take and s.take == take), self.session)

    def _watchers(self, session: Session) -> list[Client]:
        return [client for client in self.clients if client.session is session]

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[dict[str, Any]]:
        self._loop = asyncio.get_running_loop()
        self.session.start()
        try:
            # websockets
            yield {"room": self}
        finally:
            for session in tuple(self.sessions):
                await run_in_threadpool(session.stop)
            self._loop = None

    # --- from physics to the pages

    def _send(self, key: str, content: str | bytes, session: Session, only: Client | None = None) -> None:
        """Called by a session's thread: queue a message and return."""
        loop = self._loop
        if loop is None or not self.clients:
            return
        self._passed.append((key, content, session, only))
        # one call for all messages that are queued together; a second one, where two threads meet, finds nothing to do
        if not self._called:
            self._called = True
            with contextlib.suppress(RuntimeError):  # the loop has just closed
                loop.call_soon_threadsafe(self._offer)

    def _offer(self) -> None:
        # first: what is queued from now on is called for again
        self._called = False
        while self._passed:
            key, content, session, only = self._passed.popleft()
            for client in self._watchers(session) if only is None else (only,):
                client.offer(key, content)
        for client in self.clients:
            client.flush()

    def _greet(self, session: Session, client: Client) -> None:
        """On the session's thread, so that later messages come after it."""
        try:
            welcome = session.welcome()
        except Exception as error:
            # an internal error: the user should see more than an empty page
            traceback.print_exc()
            welcome = [("error", dump(Error("", f"{type(error).__name__}: {error}")))]
        for key, content in welcome:
            self._send(key, content, session, client)

    # --- access

    def _token_ok(self, connection: HTTPConnection) -> bool:
        given = connection.query_params.get("token") or connection.headers.get("x-manikin-token") or ""
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _origin_ok(self, connection: HTTPConnection) -> bool:
        """The page must come from this server: the Host is ours, and the Origin, if there is one, is that Host."""
        host = connection.headers.get("host", "")
        if not self.anywhere and re.sub(r":\d+$", "", host).lower() not in ("127.0.0.1", "localhost", "[::1]"):
            return False
        origin = connection.headers.get("origin")
        if origin is None:
            return True
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def _guarded(self, work: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def check(request: Request) -> Response:
            if not self._origin_ok(request):
                raise HTTPException(403, "this address is not where the studio's page comes from")
            if not self._token_ok(request):
                raise HTTPException(401, "the token is missing or wrong: use the address that manikin studio prints")
            return await work(request)

        return check

    # --- the websocket

    def admits(self, request: websockets.Request) -> bool:
        """Whether a page may have a websocket."""
        path, _, query = request.path.partition("?")
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.raw_items()]
        connection = HTTPConnection({"type": "websocket", "headers": headers, "query_string": query.encode("latin-1")})
        return path == "/ws" and self._origin_ok(connection) and self._token_ok(connection)

    def enter(self, client: Client, request: websockets.Request) -> None:
        """A page joins the session of the take that it showed before."""
        query = parse_qs(urlsplit(request.path).query)
        self.clients.add(client)
        self._join(client, self._session_of(query.get("take", [""])[0]))

    def _join(self, client: Client, session: Session) -> None:
        client.session = session
        if (timer := self._leaving.pop(session, None)) is not None:
            timer.cancel()
        session.audience = True
        session.ask(lambda: self._greet(session, client))

    def leave(self, client: Client) -> None:
        if client in self.clients:
            self.clients.discard(client)
            self._part(client)

    def _part(self, client: Client) -> None:
        """Take a client out of its session."""
        session, client.session = client.session, None
        if session is None:
            return
        session.audience = bool(self._watchers(session))
        session.ask(lambda: session.gone(client))
        if not session.audience and session is not self.session and self._loop is not None:
            # a reload finds it again
            self._leaving[session] = self._loop.call_later(BACK, self._retire, session)

    def _retire(self, session: Session) -> None:
        """End a session that nobody has come back to."""
        self._leaving.pop(session, None)
        if session in self.sessions and not self._watchers(session):
            self.sessions.remove(session)
            threading.Thread(target=session.stop, name="retire").start()

    def receive(self, client: Client, text: str) -> None:
        """A message from a page."""
        try:
            message = parse(text)
        except MessageError as error:
            client.refused += 1
            client.offer(f"error refused {client.refused}", dump(Error(kind_of(text), str(error))))
            client.flush()
            return
        session = client.session
        if session is None:
            return
        if (
            isinstance(message, Open)
            and session.live is not None
            and session.knows(message.scene)
            and len(self._watchers(session)) > 1
        ):
            # the others keep what they see
            before, session = session, self._new_session()
            session.own = before.own
            session.start()
            self.sessions.append(session)
            self._part(client)
            self._join(client, session)
        session.put(message, client, partial(self._answer, client, session))

    def _answer(self, client: Client, session: Session, key: str, content: str | bytes) -> None:
        self._send(key, content, session, client)

    # --- addresses

    async def _scenes(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(scene_cards))

    async def _picture(self, request: Request) -> Response:
        name = request.path_params["name"]
        for kind in (".webp", ".png", ".jpg"):
            if name in shipped() and (PICTURES / f"{name}{kind}").is_file():
                return FileResponse(PICTURES / f"{name}{kind}", headers={"Cache-Control": "max-age=3600"})
        raise HTTPException(404, "no such picture")

    async def _takes(self, request: Request) -> Response:
        takes = await asyncio.wrap_future(self.session.ask(self.session.takes))
        return Response(dump(takes), media_type="application/json")

    async def _model(self, request: Request) -> Response:
        glb = self._session_of(request.query_params.get("take")).glb
        if not glb:
            raise HTTPException(404, "no scene is open")
        return Response(glb, media_type="model/gltf-binary", headers={"Cache-Control": "no-store"})

    async def _export(self, request: Request) -> Response:
        """Export a take as a file."""
        take, kind = request.path_params["take"], request.path_params["kind"].lower()
        if kind not in EXPORTS:
            raise HTTPException(404, f"unknown kind of file (allowed: {', '.join(EXPORTS)})")
        path = self.folder.known(take)
        # up to now, if it is still being recorded
        session = self._session_of(take)
        await asyncio.wrap_future(session.ask(session.flush))
        target = Path(tempfile.mkdtemp(prefix="manikin-")) / f"take{kind}"
        clean_up = BackgroundTask(_remove, target)
        try:
            await run_in_threadpool(write_take, path, target)
        except BaseException:
            _remove(target)
            raise
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", self.folder.name(take) or Past(path).head["meta"]["name"]) or take
        return FileResponse(target, media_type=EXPORTS[kind], filename=f"{name}{kind}", background=clean_up)

    async def _upload(self, request: Request) -> Response:
        """Upload: a recording (.npz) in the body of the request becomes a take."""
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > MAX_UPLOAD:
            raise HTTPException(413, f"at most {MAX_UPLOAD // 2**20} MB")
        name = request.query_params.get("name", "")[:80]
        with tempfile.TemporaryDirectory(prefix="manikin-") as folder:
            source, size = Path(folder) / "upload.npz", 0
            with source.open("wb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > MAX_UPLOAD:
                        raise HTTPException(413, f"at most {MAX_UPLOAD // 2**20} MB")
                    file.write(chunk)
            try:
                take = await run_in_threadpool(self.folder.add, source, name)
            except InputError as error:
                raise InputError(str(error).replace(str(source), "the upload")) from None
        for session in tuple(self.sessions):
            session.ask(session.say_takes)
        return JSONResponse({"take": take}, 201)

    async def _page(self, request: Request) -> Response:
        return self._static("index.html")

    async def _file(self, request: Request) -> Response:
        return self._static(request.path_params["path"])

    def _static(self, path: str) -> Response:
        """Files of the built page: nothing secret, nothing outside their folder."""
        root = STATIC.resolve()
        try:
            file = (root / path).resolve()
            found = file.is_relative_to(root) and file.is_file()
        except (ValueError, OSError):
            # a name that no file can have: with a zero byte, or far too long
            found = False
        if not found:
            if path == "index.html":
                return PlainTextResponse("The page has not been built: see docs/studio.md.", 503)
            raise HTTPException(404, "no such file")
        return FileResponse(file, headers={"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"})


async def _refuse(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, InputError) and not isinstance(error, OutputError) else 500
    missing = "no take is called" in str(error)
    return JSONResponse({"error": str(error)}, 404 if missing else status)


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
    with contextlib.suppress(OSError):
        file.parent.rmdir()


def scene_cards() -> list[dict[str, Any]]:
    """What the gallery shows of each shipped scene."""
    out = []
    for name, path in shipped().items():
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        card = {k: raw.get(k, "") for k in ("name", "title", "group", "document", "description")}
        drawn = any((PICTURES / f"{name}{kind}").is_file() for kind in (".webp", ".png", ".jpg"))
        out.append(card | {"picture": f"/api/scenes/{name}/picture" if drawn else None})
    return out


# --- running it


class Running:
    """A server in a thread of its own; `address` opens the page. For notebooks, tests and the bench."""

    def __init__(self, studio: Studio, host: str = "127.0.0.1", port: int = 0) -> None:
        self.studio = studio
        self._socket = listen(host, port)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self._server = make_server(studio)
        self._thread = threading.Thread(target=self._serve, name="studio", daemon=True)

    @property
    def address(self) -> str:
        return page_address(self.host, self.port, self.studio.token)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> "Running":
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                self._socket.close()
                raise InputError(f"the studio could not be served at {self.host}:{self.port}")
            self._thread.join(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it; takes are kept."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def make_server(studio: Studio) -> uvicorn.Server:
    """Configure uvicorn: our own websockets, no access log, fast shutdown."""
    config = uvicorn.Config(
        studio.app, log_level="warning", access_log=False, ws=Wire, timeout_graceful_shutdown=1, server_header=False,
        proxy_headers=False,
    )  # fmt: skip
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; a port that is in use is reported."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    out = socket.socket(family, socket.SOCK_STREAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        out.bind((host, port))
    except (OSError, OverflowError) as error:
        out.close()
        why = error.strerror if isinstance(error, OSError) else "0 to 65535 are allowed"
        raise InputError(f"--port {port}: cannot be used on {host} ({why}); try another, or 0 for any") from None
    return out


def page_address(host: str, port: int, token: str) -> str:
    """What to open in a browser."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/?token={quote(token, safe='')}"

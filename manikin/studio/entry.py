"""Opening the studio: from the command line, a script or a notebook."""

import contextlib
import ipaddress
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

from manikin.errors import InputError
from manikin.scenes.scene import Scene, load_scene
from manikin.studio.server import Running, Studio
from manikin.studio.takes import SPACE, TakeFolder, data_folder
from manikin.studio.warm import warming

# the shortest token that a user may choose
MIN_TOKEN = 12
OPEN_DOOR = (
    "anyone who reaches this machine and knows the token can control the studio, read its takes and delete them, and what is "
    "sent is not encrypted"
)


def studio(
    scene: Scene | str | Path | None = None,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    browser: bool = True,
    takes: str | Path | None = None,
    space: float = SPACE / 1e9,
    block: bool = True,
    say: Callable[[str], None] = print,
) -> Running:
    """Open the studio, with a scene or with the gallery, and print its address.

    block: stay until Ctrl-C; otherwise return at once an object whose `close()` ends it. takes: the folder for takes;
    space: what they may fill [GB]; then nothing more is recorded.
    host: any address other than loopback requires a token of your choice.
    """
    check_door(host, token)
    chosen = None if scene is None else scene if isinstance(scene, Scene) else load_scene(scene)
    folder = TakeFolder(data_folder() if takes is None else Path(takes), round(space * 1e9))
    running = Running(Studio(folder, token, anywhere=not is_loopback(host)), host, port)
    running.__enter__()
    try:
        if chosen is not None:
            session = running.studio.session
            session.ask(lambda: session.open_as(chosen)).result()
        if not is_loopback(host):
            say(f"manikin: listening on {host}: {OPEN_DOOR}")
        say(f"The studio is open at {running.address}")
        say(f"Takes are kept in {folder.path}, up to {space:g} GB.")
        if block:
            say("Ctrl-C ends it.")
        if browser:
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(running.address)
        if not block:
            return running
        with contextlib.suppress(KeyboardInterrupt), warming():
            while running.alive:
                time.sleep(0.2)
    except BaseException:
        running.close()
        raise
    running.close()
    say(f"The studio is closed; takes are in {folder.path}.")
    return running


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_door(host: str, token: str | None) -> None:
    """An address that other machines can reach needs a token chosen by the user, and any token must be hard to guess."""
    if not is_loopback(host) and token is None:
        raise InputError(f"--host {host}: other machines can reach it, so it needs --token as well: {OPEN_DOOR}")
    if token is not None and (len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise InputError(f"--token: at least {MIN_TOKEN} letters, digits or symbols, without spaces")

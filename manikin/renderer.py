"""Choose what MuJoCo draws with, before it is first imported."""

import ctypes
import os
import sys

# MUJOCO_GL: the library that MuJoCo would load, and the Debian packages that bring it
_LIBRARIES = {"egl": ("libEGL.so.1", "libegl1 and libgl1-mesa-dri"), "osmesa": ("libOSMesa.so.8", "libosmesa6")}
# the other values that MuJoCo knows: draw with a window system, or not at all
_WINDOWS = ("glfw", "glx", "enable", "enabled", "on", "true", "1")
_NOTHING = ("disable", "disabled", "off", "false", "0")

# why nothing can be drawn; reported when a picture is asked for
trouble = ""


def choose_renderer() -> None:
    """MuJoCo picks its renderer when it is first imported; without a display that must be EGL, where there is one.

    A renderer that is asked for but missing would make that import fail: drawing is switched off instead.
    """
    global trouble
    if "mujoco" in sys.modules or not sys.platform.startswith("linux"):
        return
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked:
        trouble = _missing(asked)
        if trouble:
            os.environ["MUJOCO_GL"] = "disable"
        return
    if _has_display():
        return
    for name, (library, _) in _LIBRARIES.items():
        if _loads(library):
            os.environ["MUJOCO_GL"] = name
            return
    # nothing to draw with: say so when a picture is asked for, not with a window system's warnings
    os.environ["MUJOCO_GL"] = "disable"
    trouble = f"no EGL or OSMesa library was found; on Debian install {_LIBRARIES['egl'][1]}"


def _missing(asked: str) -> str:
    """What is wrong with a value of MUJOCO_GL; "" for nothing."""
    if asked in _WINDOWS and not _has_display():
        return f"MUJOCO_GL={asked} needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set; unset MUJOCO_GL"
    if asked in _WINDOWS or asked in _NOTHING:
        return ""
    if asked not in _LIBRARIES:
        return f"MUJOCO_GL={asked} is unknown (allowed: {', '.join(_LIBRARIES)}, glfw, disable)"
    library, packages = _LIBRARIES[asked]
    if _loads(library):
        return ""
    return f"MUJOCO_GL={asked} needs {library}, which is missing; on Debian install {packages}, or unset MUJOCO_GL"


def _has_display() -> bool:
    return "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True

"""Choose what MuJoCo draws with, before it is first imported."""

import ctypes
import os
import sys


def choose_renderer() -> None:
    """MuJoCo picks its renderer when it is first imported; without a display that must be EGL, where there is one."""
    if "MUJOCO_GL" in os.environ or "mujoco" in sys.modules or not sys.platform.startswith("linux"):
        return
    if "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ:
        return
    for library, name in (("libEGL.so.1", "egl"), ("libOSMesa.so.8", "osmesa")):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        os.environ["MUJOCO_GL"] = name
        return
    # nothing to draw with: say so when a picture is asked for, not with a window system's warnings
    os.environ["MUJOCO_GL"] = "disable"

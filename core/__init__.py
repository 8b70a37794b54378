"""The engine of Somersault: everything but the window. Imports no Qt."""

import os
import sys


def _drawing_library() -> str:
    """What MuJoCo draws with: by itself it picks GLFW, which needs a display, and without EGL it can't be imported."""
    import ctypes

    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        return "disable"
    return "egl"


if sys.platform == "linux" and "MUJOCO_GL" not in os.environ:
    os.environ["MUJOCO_GL"] = _drawing_library()  # before anything imports mujoco

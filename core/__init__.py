"""The engine of Somersault: everything but the window. Imports no Qt."""

import os
import sys

if sys.platform == "linux":
    # Before anything imports mujoco, which otherwise picks GLFW and can't draw without a display.
    os.environ.setdefault("MUJOCO_GL", "egl")

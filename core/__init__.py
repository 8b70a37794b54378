"""The engine of Somersault. Imports no Qt.

Data flows envs -> rollout -> preferences -> reward -> rollout -> policy; `session` connects the stages, `jobs` runs them.
"""

import ctypes
import os
import sys

# Set before anything imports cv2: a picture of a few bytes in a file from someone else may say that it is huge.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(1 << 26))

if sys.platform == "linux" and "MUJOCO_GL" not in os.environ:
    # Set before anything imports mujoco. MuJoCo's default, GLFW, needs a display, and egl fails at import without EGL.
    try:
        ctypes.CDLL("libEGL.so.1")
        os.environ["MUJOCO_GL"] = "egl"
    except OSError:
        os.environ["MUJOCO_GL"] = "disable"

"""What goes into the bundle, and what PyInstaller would take along though nothing here needs it.

The end-to-end tests of the bundle teach, draw and film with what is left, so that a rule that drops too much shows.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

DATA_PACKAGES = ("ale_py", "gymnasium", "mujoco", "pyqtgraph")
"""Packages whose files are read at run time: games, the robots' models, plug-ins of the physics, icons."""

HIDDEN_PACKAGES = ("core", "app", "gymnasium.envs", "mujoco.rendering", "mujoco.egl", "OpenGL")
"""Packages that are imported by name only, which PyInstaller can't see."""

EXCLUDED_MODULES = (
    # for writing and testing programs
    *("pytest", "_pytest", "setuptools", "pip", "pkg_resources", "IPython", "tkinter", "pygments", "rich", "psutil"),
    "readline",
    # of pyqtgraph, mujoco, imageio, sympy and torch, each for something that is never asked of them here
    *("pyqtgraph.examples", "pyqtgraph.opengl", "matplotlib", "networkx", "jinja2", "markupsafe", "yaml", "PIL"),
    *("mujoco.studio", "mujoco.usd", "mujoco.sysid", "mujoco.mjx", "mujoco.viewer", "mujoco._simulate"),
    *("mujoco._render_filament", "numpy.f2py", "torch.utils.tensorboard", "pygame.tests", "pygame.examples"),
    # CUDA's torch, where it finds this, compiles operations from sources that are not shipped, with a C compiler
    "triton",
)

_UNWANTED = (
    # torch: its tests, headers, tools, and libraries to link against
    *("torch/test/*", "torch/include/*", "torch/share/*", "torch/testing/*", "torch/bin/*test*", "*Test", "*.jinja"),
    *("torch/bin/protoc*", "torch/bin/*.p*", "torch/bin/upgrader_models/*"),
    *("torch/lib/*_test.so", "torch/lib/libaoti_custom_ops.so", "torch/lib/libbackend_with_compiler.so"),
    "torch/lib/libshm_windows/*",
    # mujoco: documentation, headers, samples and the other renderer
    *("mujoco/doc/*", "mujoco/include/*", "mujoco/testdata/*", "mujoco/sysid/*", "mujoco/studio/*", "mujoco/model/*"),
    *("mujoco/_render_filament*", "mujoco/introspect/*", "mujoco/mjx/*", "mujoco/cmake/*", "mujoco/simulate/*"),
    # Qt: what only Qt Quick, bare screens, other toolkits, printing and the network need
    *("PySide6/Qt/translations/*", "PySide6/Qt/plugins/egldeviceintegrations/*", "PySide6/Qt/plugins/generic/*"),
    *("PySide6/Qt/plugins/platforms/libqeglfs*", "PySide6/Qt/plugins/platforms/libqlinuxfb*"),
    *("PySide6/Qt/plugins/platforms/libqvnc*", "PySide6/Qt/plugins/platforms/libqvkkhrdisplay*"),
    *("PySide6/Qt/plugins/platforms/libqminimal*", "PySide6/Qt/plugins/platformthemes/libqgtk3*"),
    *("PySide6/Qt/plugins/networkinformation/*", "PySide6/Qt/plugins/tls/*", "*libQt6Egl*", "*QtNetwork.*"),
    *("PySide6/Qt/plugins/imageformats/libqtiff*", "PySide6/Qt/plugins/imageformats/libqpdf*"),
    *("PySide6/Qt/plugins/imageformats/libqwebp*", "*libQt6Network*"),
    # headers, stubs, static libraries, tests and sources wherever they are
    *("*.pyi", "*.a", "*.lib", "*.h", "*.hpp", "*.c", "*.pyx", "*.pxd", "*/tests/*", "*/testing/*", "*.md5"),
    *(
        "*/__pycache__/*",
        "pyqtgraph/examples/*",
        "pygame/docs/*",
        "pygame/examples/*",
        "_tcl_data/*",
        "_tk_data/*",
        "tcl8/*",
    ),
)

_TORCH_SOURCE = re.compile(r"torch/(?!(nn|jit|utils|optim|distributions)/)\w+/.*(?<!config)\.py")
"""Of torch, beside the compiled modules, only what it reads the source of: settings, and what may be scripted."""
_OWN_LIBRARIES = re.compile(r"lib(python3[.\d]*|ssl|crypto|sqlite3|ffi|bz2|lzma|z|uuid|mpdec)(-[.\d]+)?\.so")
"""What Python itself is linked with, and may differ between systems."""


def is_wanted(name: str, source: str) -> bool:
    """Whether a file is shipped. name: where in the bundle it would be; source: where it was found."""
    name = Path(name).as_posix()
    if any(fnmatch(name, pattern) for pattern in _UNWANTED) or _TORCH_SOURCE.fullmatch(name):
        return False
    return not _is_of_the_system(source) or bool(_OWN_LIBRARIES.match(Path(name).name))


def _is_of_the_system(source: str) -> bool:
    """A library of the build machine, such as X11's, OpenGL's or C++'s.

    Those come from the system that the bundle runs on: its graphics drivers need them at least as new as it has them.
    """
    return source.startswith(("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")) and ".so" in Path(source).name

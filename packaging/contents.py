"""Contents of the bundle, and the files that PyInstaller would add although nothing needs them.

The end-to-end tests of the bundle teach, render and film, so that a rule that drops too much fails them.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

DATA_PACKAGES = ("ale_py", "gymnasium", "mujoco", "pyqtgraph")
"""Packages with data files that are read at run time: games, robot models, physics plug-ins, icons."""

HIDDEN_PACKAGES = ("core", "app", "somersault", "gymnasium.envs", "mujoco.rendering", "mujoco.egl", "OpenGL")
"""Packages that are imported dynamically, which PyInstaller can't see."""

EXCLUDED_MODULES = (
    # for writing and testing programs
    *("pytest", "_pytest", "setuptools", "pip", "pkg_resources", "IPython", "tkinter", "pygments", "rich", "psutil"),
    "readline",
    # optional dependencies of pyqtgraph, mujoco, imageio, sympy and torch for features that are not used
    *("pyqtgraph.examples", "pyqtgraph.opengl", "matplotlib", "networkx", "jinja2", "markupsafe", "yaml", "PIL"),
    *("mujoco.studio", "mujoco.usd", "mujoco.sysid", "mujoco.mjx", "mujoco.viewer", "mujoco._simulate"),
    *("mujoco._render_filament", "numpy.f2py", "torch.utils.tensorboard", "pygame.tests", "pygame.examples"),
    # with triton, CUDA's torch would compile operations from sources that are not shipped
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
    # Qt: plug-ins for Qt Quick, framebuffers, other toolkits, printing and the network
    *("PySide6/Qt/translations/*", "PySide6/Qt/plugins/egldeviceintegrations/*", "PySide6/Qt/plugins/generic/*"),
    *("PySide6/Qt/plugins/platforms/libqeglfs*", "PySide6/Qt/plugins/platforms/libqlinuxfb*"),
    *("PySide6/Qt/plugins/platforms/libqvnc*", "PySide6/Qt/plugins/platforms/libqvkkhrdisplay*"),
    *("PySide6/Qt/plugins/platforms/libqminimal*", "PySide6/Qt/plugins/platformthemes/libqgtk3*"),
    *("PySide6/Qt/plugins/networkinformation/*", "PySide6/Qt/plugins/tls/*", "*libQt6Egl*", "*QtNetwork.*"),
    *("PySide6/Qt/plugins/imageformats/libqtiff*", "PySide6/Qt/plugins/imageformats/libqpdf*"),
    *("PySide6/Qt/plugins/imageformats/libqwebp*", "*libQt6Network*"),
    # headers, stubs, static libraries, tests and sources anywhere
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
"""Sources of torch that it never reads; it needs those of settings and of scriptable modules."""
_OWN_LIBRARIES = re.compile(r"lib(python3[.\d]*|ssl|crypto|sqlite3|ffi|bz2|lzma|z|uuid|mpdec)(-[.\d]+)?\.so")
"""Libraries that Python itself is linked with, which may differ between systems."""


def is_wanted(name: str, source: str) -> bool:
    """True if a file is shipped. name: path in the bundle; source: path on the build machine."""
    name = Path(name).as_posix()
    if any(fnmatch(name, pattern) for pattern in _UNWANTED) or _TORCH_SOURCE.fullmatch(name):
        return False
    return not _is_of_the_system(source) or bool(_OWN_LIBRARIES.match(Path(name).name))


def _is_of_the_system(source: str) -> bool:
    """True for a library of the build machine, such as X11, OpenGL or the C++ runtime.

    The system that the bundle runs on provides these, because its graphics drivers may need newer ones.
    """
    return source.startswith(("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")) and ".so" in Path(source).name

"""Contents of the bundle, and the files that PyInstaller would add although nothing needs them.

The end-to-end tests of the bundle teach, render and film, so that they fail if a rule drops too much.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

DATA_PACKAGES = ("ale_py", "gymnasium", "mujoco", "pyqtgraph")
"""Packages with data files that are read at run time: games, robot models, physics plug-ins, icons."""

HIDDEN_PACKAGES = ("core", "app", "somersault", "gymnasium.envs", "mujoco.rendering", "mujoco.egl", "OpenGL")
"""Packages that are imported dynamically, which PyInstaller can't see."""

_MANY_MACHINES = ("checkpoint", "elastic", "pipelining", "_tools", "optim", "flight_recorder")
_TORCH_TESTS = (
    *("common_methods_invocations", "common_modules", "common_nn", "common_utils", "common_distributed", "opinfo"),
    *("common_device_type", "common_quantization", "jit_utils", "jit_metaprogramming_utils", "distributed.rpc"),
    *("distributed.distributed_test", "distributed.nn"),
)

EXCLUDED_MODULES = (
    # for writing and testing programs
    *("pytest", "_pytest", "setuptools", "pip", "pkg_resources", "IPython", "tkinter", "pygments", "rich", "psutil"),
    "readline",
    # optional dependencies of pyqtgraph, mujoco, imageio and torch for features that are not used
    *("pyqtgraph.examples", "pyqtgraph.opengl", "matplotlib", "networkx", "jinja2", "markupsafe", "yaml", "PIL"),
    *("mujoco.studio", "mujoco.usd", "mujoco.sysid", "mujoco.mjx", "mujoco.viewer", "mujoco._simulate"),
    *("mujoco._render_filament", "numpy.f2py", "torch.utils.tensorboard", "pygame.tests", "pygame.examples"),
    *("pygame.mixer", "pygame.mixer_music", "OpenGL.raw.GLES1", "OpenGL.raw.GLES2", "OpenGL.raw.GLES3"),
    # of ONNX only writing, checking and running a file is used
    *("onnx.backend", "onnx.reference", "onnx.hub", "onnx.tools", "onnxruntime.tools", "onnxruntime.quantization"),
    *("onnxruntime.transformers", "onnxruntime.backend", "onnxruntime.datasets", "flatbuffers"),
    # torch's compiler, and training on many machines
    *("torch._dynamo", "torch._inductor", "sympy", "mpmath"),
    *(f"torch.distributed.{name}" for name in _MANY_MACHINES),
    *(f"torch.testing._internal.{name}" for name in _TORCH_TESTS),
    *(
        "torch._vendor.quack",
        "torch.ao.ns",
        "torch.ao.pruning",
        "torch.utils.benchmark",
        "torch.utils.hipify",
        "fsspec",
    ),
    # with triton, CUDA's torch would compile operations from sources that are not shipped
    "triton",
)

_UNWANTED = (
    # torch: its tests, headers, tools, and libraries to link against
    *("torch/test/*", "torch/include/*", "torch/share/*", "torch/testing/*", "torch/bin/*test*", "*Test", "*.jinja"),
    *("torch/bin/protoc*", "torch/bin/*.p*", "torch/bin/upgrader_models/*"),
    *("torch/lib/*_test.so", "torch/lib/libaoti_custom_ops.so", "torch/lib/libbackend_with_compiler.so"),
    "torch/lib/libshm_windows/*",
    *("torch/_torch_docs.py", "torch/_tensor_docs.py", "torch/_meta_registrations.py", "torch/utils/data/*.py"),
    *("torch/utils/hipify/*", "torch/utils/benchmark/*", "torch/utils/_sympy/*.py", "torch/utils/model_dump/*"),
    # onnxruntime: the library for programs in C, which its module repeats
    "onnxruntime/capi/libonnxruntime.so*",
    # of a distribution only its name and version are read; the licences are in a folder of their own
    *("*.dist-info/RECORD", "*.dist-info/licenses/*", "*.dist-info/LICEN*", "*.dist-info/sboms/*"),
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
    # the pictures of the README
    "resources/readme/*",
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

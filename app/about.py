"""What the program is, and which versions it is made of."""

from __future__ import annotations

import platform
import tomllib
from importlib.metadata import PackageNotFoundError, version

from app import assets

_LIBRARIES = ("PySide6-Essentials", "pyqtgraph", "numpy", "torch", "mujoco", "gymnasium", "ale-py", "av")
_TEXT = (
    "<h3>Somersault {version}</h3><p>Teach a simulated robot a behaviour that nobody can write a reward for, by"
    " choosing the better of two short clips.</p><p>The method is that of Christiano et al., <i>Deep Reinforcement"
    " Learning from Human Preferences</i> (2017).</p><p><small>{libraries}</small></p>"
)


def text() -> str:
    """Versions come from what is installed, so that nothing has to be loaded for them."""
    libraries = [f"{name} {found}" for name in _LIBRARIES if (found := _version(name))]
    return _TEXT.format(
        version=_own_version(), libraries=", ".join([f"Python {platform.python_version()}", *libraries])
    )


def _own_version() -> str:
    """From a checkout, which is not installed as a package, that of its pyproject.toml."""
    project = assets.folder().parent / "pyproject.toml"
    if not (found := _version("somersault")) and project.is_file():
        found = str(tomllib.loads(project.read_text("utf-8"))["project"]["version"])
    return found


def _version(name: str) -> str:
    """'' where it is not installed as a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""

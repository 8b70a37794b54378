"""What the program is, and which versions it is made of."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

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
        version=_version("somersault") or "", libraries=", ".join([f"Python {platform.python_version()}", *libraries])
    )


def _version(name: str) -> str:
    """'' where it is not installed as a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""

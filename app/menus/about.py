"""What the program is, and which versions it is made of."""

from __future__ import annotations

import platform

from core.version import VERSION, library_versions

_TEXT = (
    "<h3>Somersault {version}</h3><p>Teach a simulated robot a behaviour that nobody can write a reward for, by"
    " choosing the better of two short clips.</p><p>The method is that of Christiano et al., <i>Deep Reinforcement"
    " Learning from Human Preferences</i> (2017).</p><p><small>{libraries}</small></p>"
)


def text() -> str:
    """Versions come from what is installed, so that nothing has to be loaded for them."""
    versions = {"Python": platform.python_version(), **library_versions()}
    libraries = ", ".join(f"{name} {found or '(not installed)'}" for name, found in versions.items())
    return _TEXT.format(version=VERSION, libraries=libraries)

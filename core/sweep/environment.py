"""Fingerprint of the program's sources, and versions of its libraries, on which results depend besides the config."""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path

import core
from core.behaviours.behaviour import SUFFIX
from core.behaviours.shipped import FOLDER
from core.errors import UserError
from core.version import FROZEN, VERSION, library_versions

_COMPUTING = ("numpy", "torch", "mujoco", "gymnasium", "ale-py", "opencv-python-headless")
"""Libraries on whose versions results may depend."""
_SOURCES = "sources"


@functools.cache
def versions() -> dict[str, str]:
    """Return versions by name, with a digest of the package's source files and shipped behaviours as `sources`."""
    installed = library_versions()
    libraries = {name: installed[name] or "none" for name in _COMPUTING}
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"somersault": VERSION, _SOURCES: _digest_of_sources(), "python": python, **libraries}


def require_equal(theirs: dict[str, str], where: str) -> None:
    """Raise UserError if these versions differ from this process's. where: the machine, as the subject of the sentence"""
    for name, ours in versions().items():
        other = theirs.get(name, "none")
        if other == ours:
            continue
        if name == _SOURCES:
            raise UserError(
                f"{where} has other source files of Somersault: copy the folders core and resources there, then try again."
            )
        remedy = f"run: pip install {name}=={ours}" if name in _COMPUTING else f"install {name} {ours} there"
        raise UserError(f"{where} has {name} {other}, not {ours}: {remedy}, then try again.")


def _digest_of_sources() -> str:
    if FROZEN:  # its modules are in one archive; the version names them
        return VERSION
    folder = Path(core.__file__).resolve().parent
    digest = hashlib.sha256()
    for root, pattern in ((folder, "*.py"), (FOLDER, f"*{SUFFIX}")):
        for path in sorted(root.rglob(pattern)):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]

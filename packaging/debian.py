"""The Debian package: bundle in /usr/lib/somersault, link in /usr/bin, desktop entry, icon and manual page."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import bundle as bundles

from app import system_libraries

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_DEPENDS = (
    # C and C++, which graphics drivers share with the program
    *("libstdc++6", "libgcc-s1", "zlib1g", "libzstd1", "libexpat1"),
    *system_libraries.RENDERING.values(),
    "libgl1-mesa-dri",  # a driver that works without a GPU; the driver of a GPU takes precedence
    *system_libraries.WIDGETS.values(),
    *("libfreetype6", "fonts-dejavu-core"),
    *system_libraries.X11.values(),
    *("libx11-6", "libx11-xcb1", "libxcb-glx0", "libxcb-image0", "libxcb-randr0", "libxcb-render0"),
    *("libxcb-render-util0", "libxcb-shm0", "libxcb-sync1", "libxcb-util1", "libxcb-xfixes0", "libxcb-xkb1"),
    *system_libraries.WAYLAND.values(),
    "libwayland-egl1",
)
_CONTROL = """Package: somersault
Version: {version}
Architecture: {architecture}
Maintainer: The Somersault authors <somersault@localhost>
Installed-Size: {kilobytes}
Depends: {depends}
Section: science
Priority: optional
Description: teach a simulated robot by choosing the better of two clips
 Somersault lets you teach a simulated robot, or an Atari player, behaviour
 that is hard to describe with a reward function: you repeatedly choose the
 better of two short clips while the robot learns.
 .
 This package contains all Python libraries that it needs{flavour}.
"""


class Packing(NamedTuple):
    """Compression of a package or an archive."""

    program: str
    level: int
    suffix: str


def packing(cuda: bool) -> Packing:
    """xz level 1 for the CPU flavour: a fifth of the time of level 6, for a tenth more bytes.

    zstd for the CUDA flavour, which hardly compresses: a hundredth of the time of xz, for a fiftieth more bytes.
    """
    return Packing("zstd", 3, "zst") if cuda else Packing("xz", 1, "xz")


def architecture(machine: str) -> str:
    """Debian's name of the architecture that `uname -m` prints."""
    return _ARCHITECTURES[machine]


def build(bundle: Path, version: str, machine: str, cuda: bool, staging: Path, target: Path, epoch: int) -> None:
    """Write the package. staging: folder for its tree; epoch: modification time of every file in it."""
    shutil.rmtree(staging, ignore_errors=True)
    lay_out(bundle, version, staging)
    (staging / "DEBIAN").mkdir()
    control = _CONTROL.format(
        version=version,
        architecture=architecture(machine),
        kilobytes=-(-bundles.size(staging) // 1024),
        depends=", ".join((f"libc6 (>= {bundles.needed_glibc(bundle)})", *_DEPENDS)),
        flavour=", and those of CUDA for an NVIDIA GPU" if cuda else "; no GPU is needed",
    )
    (staging / "DEBIAN" / "control").write_text(control, "utf-8")
    (staging / "DEBIAN" / "md5sums").write_text(_sums(staging), "utf-8")
    set_times(staging, epoch)
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    packed = packing(cuda)
    compression = [f"-Z{packed.program}", f"-z{packed.level}"]
    command = ["dpkg-deb", "--root-owner-group", *compression, "--build", str(staging), str(target)]
    subprocess.run(command, check=True, env=environ)


def lay_out(bundle: Path, version: str, staging: Path) -> None:
    """Build the tree as it is installed."""
    share, documents = staging / "usr/share", staging / "usr/share/doc/somersault"
    shutil.copytree(bundle, staging / "usr/lib/somersault", symlinks=True, copy_function=link_or_copy)
    (staging / "usr/bin").mkdir()
    (staging / "usr/bin/somersault").symlink_to("../lib/somersault/somersault")
    _put(share / "applications/somersault.desktop", (HERE / "linux/somersault.desktop").read_bytes())
    _put(share / "icons/hicolor/scalable/apps/somersault.svg", (ROOT / "resources/logo.svg").read_bytes())
    manual = (HERE / "linux/somersault.1").read_text("utf-8").replace("@VERSION@", version)
    _put(share / "man/man1/somersault.1.gz", gzip.compress(manual.encode(), mtime=0))
    _put(documents / "changelog.gz", gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0))
    index = (bundle / "licences/INDEX.txt").read_text("utf-8")
    own = (ROOT / "LICENSE").read_text("utf-8")
    rest = f"\nThe libraries that it ships have their own licences, in /usr/lib/somersault/licences:\n\n{index}"
    _put(documents / "copyright", (own + rest).encode())


def link_or_copy(source: str, target: str) -> None:
    """Hard-link, which takes no space, or copy if the target is on another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _sums(staging: Path) -> str:
    files = (path for path in sorted((staging / "usr").rglob("*")) if path.is_file() and not path.is_symlink())
    return "".join(f"{_md5(path)}  {path.relative_to(staging).as_posix()}\n" for path in files)


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def set_times(folder: Path, epoch: int) -> None:
    """Set the same time and plain permissions on all files, so that builds differ only in content."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=os.utime not in os.supports_follow_symlinks)

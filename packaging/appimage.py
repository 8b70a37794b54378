"""The AppImage: one file that is downloaded, made executable and started, on systems without a package of their own.

It is the AppImage project's runtime of type 2, a small program that mounts what follows it and starts AppRun there,
followed by a squashfs of the bundle. The runtime is not part of this project: build.py is given its file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import bundle as bundles
import debian
import licences

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CARRIED = (
    *("libxcb-cursor.so.0", "libxcb-icccm.so.4", "libxcb-image.so.0", "libxcb-keysyms.so.1"),
    *("libxcb-render-util.so.0", "libxcb-util.so.1", "libxkbcommon.so.0", "libxkbcommon-x11.so.0"),
)
"""Libraries of the build machine that a desktop may lack; graphics drivers do not need them."""
_LEVEL = "15"
"""Compression level of zstd: takes a third of the time of level 19, for a hundredth more bytes."""


def build(bundle: Path, runtime: Path, staging: Path, target: Path, epoch: int) -> None:
    """Write the AppImage. staging: folder for its tree; epoch: modification time of every file in it."""
    shutil.rmtree(staging, ignore_errors=True)
    lay_out(bundle, staging)
    debian.set_times(staging, epoch)
    image = target.with_name(f"{target.name}.squashfs")
    command = ["mksquashfs", staging, image, "-noappend", "-root-owned", "-no-progress", "-quiet", "-comp", "zstd"]
    environ = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}  # excludes the options
    times = ["-Xcompression-level", _LEVEL, "-mkfs-time", epoch, "-all-time", epoch]
    subprocess.run([*map(str, [*command, *times])], check=True, env=environ)
    with target.open("wb") as file:
        for part in (runtime, image):
            with part.open("rb") as read:
                shutil.copyfileobj(read, file, 1 << 20)
    image.unlink()
    target.chmod(0o755)


def lay_out(bundle: Path, folder: Path) -> None:
    """Build the tree that is mounted: the bundle with the libraries that it carries, and AppRun, entry and icon."""
    place = folder / "usr/lib/somersault"
    shutil.copytree(bundle, place, symlinks=True, copy_function=debian.link_or_copy)
    sources = [find_library(name) for name in CARRIED]
    for name, source in zip(CARRIED, sources, strict=True):
        shutil.copy(source, place / "lib/_internal" / name)
    index = place / "licences/INDEX.txt"
    lines = [*index.read_text("utf-8").splitlines(), *licences.take_system(set(sources), index.parent)]
    index.unlink()  # a hard link to the bundle's own
    index.write_text("\n".join(dict.fromkeys(lines)) + "\n", "utf-8")
    launcher = place / "somersault"
    text, needed = launcher.read_text("utf-8"), bundles.needed_glibc(place)
    launcher.unlink()
    launcher.write_text(re.sub(r"^built_with=.*$", f"built_with={needed}", text, flags=re.MULTILINE), "utf-8")
    launcher.chmod(0o755)
    (folder / "AppRun").symlink_to("usr/lib/somersault/somersault")
    entry = (HERE / "linux/somersault.desktop").read_text("utf-8").replace("env SOMERSAULT_FROM_MENU=1 ", "")
    (folder / "somersault.desktop").write_text(entry, "utf-8")
    shutil.copyfile(ROOT / "resources/logo.svg", folder / "somersault.svg")
    (folder / ".DirIcon").symlink_to("somersault.svg")


def find_library(name: str) -> Path:
    """File of a library of this machine. Raises SystemExit if it is not installed."""
    for line in subprocess.check_output(["/sbin/ldconfig", "-p"], text=True).splitlines():
        if line.split(" (")[0].strip() == name:
            return Path(line.rpartition("=> ")[2]).resolve()
    raise SystemExit(f"{name} is not installed here, and the AppImage has to carry it: install its package first.")

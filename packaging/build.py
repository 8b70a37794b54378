"""Build the bundle and its packages for the system that this runs on.


python3 packaging/build.py                   Linux: folder, .deb and .tar.xz; Windows: folder, installer and .zip
python3 packaging/build.py --torch cuda      the same with CUDA, on Linux with .tar.zst for .tar.xz
python3 packaging/build.py --folder-only     stop after the folder
python3 packaging/build.py --appimage FILE   an AppImage as well, with this runtime (see README.md)
python3 packaging/build.py --output FOLDER   instead of packaging/dist

Standard library only: build tools are installed into a separate environment, at the versions of constraints.txt.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(1, str(ROOT))  # after this folder, which Python puts first

import appimage  # noqa: E402
import bundle as bundles  # noqa: E402
import debian  # noqa: E402

import run  # noqa: E402
from core.version import VERSION  # noqa: E402


class Build:
    """Build of one flavour: its folders and the seconds that each step took."""

    def __init__(self, flavour: str, output: Path) -> None:
        self.cuda = flavour == "cuda"
        self.output = output
        self.work = HERE / "build" / flavour
        self.python = self.work / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        self.version = VERSION + ("+cuda" if self.cuda else "")
        self.name = f"somersault-{self.version}-{platform.system().lower()}-{platform.machine().lower()}"
        self.folder = output / self.name
        self.icon = self.work / "pyinstaller" / "somersault" / "somersault.ico"
        self.seconds: dict[str, float] = {}
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _commit_time())

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        print(f"{step} ...", flush=True)
        started = time.monotonic()
        yield
        self.seconds[step] = round(time.monotonic() - started, 1)

    def call(self, *command: object, **environ: str) -> None:
        fixed = {"PIP_USER": "0"}  # packages of the user's own would not be in the bundle
        subprocess.run([*map(str, command)], cwd=ROOT, check=True, env={**os.environ, **fixed, **environ})

    def make_environment(self) -> None:
        """Install the constrained libraries, those of the extra `onnx` and PyInstaller, without test dependencies."""
        wanted = run.requirements(("build", "onnx"))
        stamp = self.work / "venv" / "installed.txt"
        installed = f"{run.digest(('build', 'onnx'))}\n{sys.version}\n"
        if not (self.python.exists() and stamp.exists() and stamp.read_text("utf-8") == installed):
            self.call(
                sys.executable, "-m", "venv", "--clear", self.work / "venv"
            )  # drop libraries of older constraints
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *run.constrained()]
        torch = self.torch(run.torch_requirement(wanted))
        self.call(*pip, torch, *run.torch_index(dict(os.environ), self.cuda))
        self.call(*pip, *wanted)
        self.require_flavour()
        stamp.write_text(installed, "utf-8")

    def require_flavour(self) -> None:
        built = subprocess.check_output(
            [self.python, "-c", "import torch; print(torch.version.cuda)"], text=True
        ).strip()
        if self.cuda == (built == "None"):
            found = "without CUDA" if self.cuda else f"for CUDA {built}"
            sys.exit(
                f"pip found a build of torch {found}: set SOMERSAULT_TORCH_INDEX to an index that has the other build."
            )

    def torch(self, requirement: str) -> str:
        """Requirement of torch; on Linux the CUDA build has no suffix, and pip would otherwise prefer +cpu."""
        if not self.cuda or sys.platform != "linux":
            return requirement
        pins = run.CONSTRAINTS.read_text("utf-8").splitlines()
        return "torch===" + next(pin.partition("==")[2] for pin in pins if pin.startswith("torch=="))

    def freeze(self) -> None:
        frozen, work, spec = self.work / "frozen", self.work / "pyinstaller", HERE / "somersault.spec"
        shutil.rmtree(self.work / "licences", ignore_errors=True)
        places = ["--distpath", frozen, "--workpath", work]
        if sys.platform == "win32":
            self.icon.parent.mkdir(parents=True, exist_ok=True)
            self.call(self.python, HERE / "icon.py", self.icon)
        fixed = {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": str(self.epoch)}
        self.call(self.python, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR", *places, spec, **fixed)
        sources = work / "somersault" / "sources.txt"
        self.call(self.python, HERE / "licences.py", sources, self.work / "licences")
        bundles.assemble(frozen / "somersault", self.work / "licences", self.folder)
        debian.set_times(self.folder, self.epoch)
        (self.output / f"{self.name}.files.txt").write_text(bundles.listing(self.folder), "utf-8")

    def make_deb(self) -> Path:
        target = self.output / f"somersault_{self.version}_{debian.architecture(platform.machine())}.deb"
        staging = self.work / "deb"
        debian.build(self.folder, self.version, platform.machine(), self.cuda, staging, target, self.epoch)
        return target

    def make_appimage(self, runtime: Path) -> Path:
        target = self.output / f"Somersault-{self.version}-{platform.machine()}.AppImage"
        appimage.build(self.folder, runtime, self.work / "appimage", target, self.epoch)
        return target

    def make_installer(self) -> Path:
        """Build the installer with NSIS, whose payload is limited to 2 GB; CUDA's libraries exceed that."""
        target = self.output / f"{self.name}-setup.exe"
        names = {"VERSION": self.version, "BUNDLE": self.folder, "ICON": self.icon, "OUTPUT": target}
        self.call("makensis", *(f"-D{name}={value}" for name, value in names.items()), HERE / "windows/somersault.nsi")
        return target

    def make_archive(self) -> Path:
        """Pack the folder into one archive, in a fixed order and with root as owner."""
        if sys.platform == "win32":
            return Path(shutil.make_archive(str(self.folder), "zip", self.output, self.name))
        program, level, suffix = debian.packing(self.cuda)
        target = self.output / f"{self.name}.tar.{suffix}"
        with target.open("wb") as file:
            packer = subprocess.Popen([program, f"-{level}", "--threads=0"], stdin=subprocess.PIPE, stdout=file)
            assert packer.stdin
            with tarfile.open(fileobj=packer.stdin, mode="w|", format=tarfile.PAX_FORMAT) as archive:
                archive.add(self.folder, self.name, filter=_as_root)
            packer.stdin.close()
        if packer.wait():
            raise subprocess.CalledProcessError(packer.returncode, program)
        return target


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _commit_time() -> str:
    try:
        return subprocess.check_output(
            ["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True, stderr=subprocess.PIPE
        ).strip()
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        sys.exit(
            f"git names no commit to take the time of the files from ({reason.strip().splitlines()[0]}): set"
            " SOURCE_DATE_EPOCH, for example to $(date +%s)."
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--folder-only", action="store_true")
    parser.add_argument("--appimage", metavar="RUNTIME", type=Path)
    parser.add_argument("--output", type=Path, default=HERE / "dist")
    options = parser.parse_args()
    if options.appimage and not options.appimage.is_file():
        parser.error(f"there is no file {options.appimage}: packaging/README.md says where the runtime comes from")
    options.output.mkdir(parents=True, exist_ok=True)
    build, made = Build(options.torch, options.output.resolve()), []
    with build.timed("environment"):
        build.make_environment()
    with build.timed("folder"):
        build.freeze()
    if not options.folder_only:
        if sys.platform == "linux":
            with build.timed("deb"):
                made.append(build.make_deb())
        if sys.platform == "linux" and options.appimage:
            with build.timed("appimage"):
                made.append(build.make_appimage(options.appimage))
        if sys.platform == "win32" and shutil.which("makensis") and not build.cuda:
            with build.timed("installer"):
                made.append(build.make_installer())
        with build.timed("archive"):
            made.append(build.make_archive())
    sizes = {build.folder.name: bundles.size(build.folder), **{path.name: path.stat().st_size for path in made}}
    print(
        json.dumps(
            {"megabytes": {name: round(count / 1e6, 1) for name, count in sizes.items()}, "seconds": build.seconds}
        )
    )


if __name__ == "__main__":
    main()

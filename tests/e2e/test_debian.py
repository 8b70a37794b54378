"""The package in a fresh Debian and Ubuntu: installed by apt, started on a screen, and removed without a trace.

    .venv/bin/python -m pytest -m slow tests/e2e/test_debian.py

Requires root, debootstrap, Debian's packages, and a package made by packaging/build.py: the CPU flavour of this version,
or the one named by SOMERSAULT_DEB, of any flavour. SOMERSAULT_UBUNTU_MIRROR names a mirror of Ubuntu, such as
http://archive.ubuntu.com/ubuntu; without it, or without Ubuntu's keys, Ubuntu is left out. Pictures of the window are
saved in build/pictures, or in the folder in SOMERSAULT_PICTURES.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from core.version import VERSION
from tests.e2e.bundle import ROOT, answers, folder_on_disk, may_mount, screen, wait_for_answers

_DIST = Path(os.environ.get("SOMERSAULT_DIST", ROOT / "packaging/dist"))
_NAMED = os.environ.get("SOMERSAULT_DEB")
_PACKAGES = [Path(_NAMED)] if _NAMED else sorted(_DIST.glob(f"somersault_{VERSION}_*.deb"))
_HAS_CUDA = bool(_PACKAGES) and "+cuda" in _PACKAGES[-1].name
_MOST_BYTES = 280_000_000
_UBUNTU_MIRROR = os.environ.get("SOMERSAULT_UBUNTU_MIRROR", "")
_UBUNTU_KEYS = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not _PACKAGES, reason="no package: python3 packaging/build.py"),
]
needs_root = pytest.mark.skipif(
    not (may_mount() and shutil.which("debootstrap")), reason="only root with debootstrap can make a fresh system"
)
_CHANGES_BY_ITSELF = ("/var/lib/apt", "/var/lib/dpkg", "/var/cache", "/var/log", "/tmp", "/root", "/home", "/proc")
_OF_TRIGGERS = ("/etc/ld.so.cache", "/usr/share/mime", "/usr/share/icons", "/etc/fonts", "/var/lib/fontconfig")
"""Files that other packages' triggers leave behind on removal; none of them may be ours."""

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRON = {"PATH": _PATH, "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
_ENOUGH = 5
"""Answers that show a window to teach."""

Run = Callable[..., subprocess.CompletedProcess[str]]


_needs_ubuntu = pytest.mark.skipif(
    not (_UBUNTU_MIRROR and _UBUNTU_KEYS.exists()),
    reason=f"no mirror of Ubuntu is named in SOMERSAULT_UBUNTU_MIRROR, or there is no {_UBUNTU_KEYS}",
)
_SUITES = [
    pytest.param("bookworm", id="debian-12"),
    pytest.param("trixie", id="debian-13"),
    pytest.param("jammy", id="ubuntu-22.04", marks=_needs_ubuntu),
    pytest.param("noble", id="ubuntu-24.04", marks=_needs_ubuntu),
]


@pytest.mark.skipif(_HAS_CUDA, reason="CUDA's libraries alone are more")
def test_the_package_is_no_larger_than_promised() -> None:
    assert _PACKAGES[-1].stat().st_size <= _MOST_BYTES


@pytest.fixture(scope="module", params=_SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    """Name of the release in debootstrap."""
    return str(request.param)


@pytest.fixture(scope="module")
def fresh(suite: str) -> Iterator[Path]:
    """Folder of a fresh system with the package in its /tmp; deleted afterwards, as it takes two gigabytes."""
    with folder_on_disk(suite) as folder:
        make_system(suite, folder)
        yield folder


def make_system(suite: str, folder: Path) -> None:
    ubuntus = suite in ("jammy", "noble")  # their installers also enable universe
    command = ["debootstrap", "--variant=minbase", f"--components={'main,universe' if ubuntus else 'main'}"]
    command += [suite, str(folder), *([_UBUNTU_MIRROR] if ubuntus else [])]
    subprocess.run(command, check=True, capture_output=True)
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    (folder / "tmp/.X11-unix").mkdir(parents=True, exist_ok=True)
    shutil.copy(_PACKAGES[-1], folder / "tmp" / _PACKAGES[-1].name)


def inside(fresh: Path, *command: str) -> list[str]:
    """Return the command line that runs a command as root in the fresh system, with access to the host's screens."""
    mounts = [
        f"mount --bind /tmp/.X11-unix {fresh}/tmp/.X11-unix",
        f"mount -t proc proc {fresh}/proc",
        f"mount -t tmpfs shm {fresh}/dev/shm -o mode=1777 || true",
    ]
    script = " && ".join([*mounts, f'exec chroot {fresh} "$@"'])
    return ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", *command]


@pytest.fixture(scope="module")
def within(fresh: Path) -> Run:
    """Run a command in the fresh system to its end."""

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            inside(fresh, *command), env=_ENVIRON, capture_output=True, text=True, timeout=900, check=False
        )

    return run


@pytest.fixture(scope="module")
def installed(fresh: Path, within: Run) -> Iterator[set[str]]:
    """Files that existed before the installation of the package."""
    assert within("apt-get", "update").returncode == 0
    before = files(fresh)
    done = within("apt-get", "install", "-y", "--no-install-recommends", f"/tmp/{_PACKAGES[-1].name}")
    assert done.returncode == 0, done.stderr
    yield before


def files(folder: Path) -> set[str]:
    found = (str(path).removeprefix(str(folder)) for path in folder.rglob("*") if not path.is_socket())
    return {name for name in found if not name.startswith(_CHANGES_BY_ITSELF)}


@needs_root
def test_the_package_installs_every_needed_library(within: Run, installed: set[str]) -> None:
    libraries = "find /usr/lib/somersault/lib -name '*.so*' -type f"
    own = "LD_LIBRARY_PATH=$(find /usr/lib/somersault/lib -name '*.so*' -printf '%h\\n' | sort -u | tr '\\n' ':')"
    done = within("sh", "-c", f"{libraries} | {own} xargs -d '\\n' ldd 2>/dev/null | grep 'not found' | sort -u")
    assert done.stdout == ""


@needs_root
def test_the_program_is_in_the_path_and_in_the_menu(fresh: Path, within: Run, installed: set[str]) -> None:
    assert within("somersault", "--version").stdout == f"somersault {VERSION}\n"
    entry = (fresh / "usr/share/applications/somersault.desktop").read_text("utf-8")
    assert "\nExec=env SOMERSAULT_FROM_MENU=1 somersault\n" in entry and "\nIcon=somersault\n" in entry
    assert (fresh / "usr/share/icons/hicolor/scalable/apps/somersault.svg").is_file()
    assert within("zcat", "/usr/share/man/man1/somersault.1.gz").stdout.startswith(".TH SOMERSAULT 1")


@needs_root
def test_the_package_opens_a_window_that_teaches(suite: str, fresh: Path, installed: set[str]) -> None:
    picture = ROOT / os.environ.get("SOMERSAULT_PICTURES", "build/pictures") / f"{suite}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    command = ["somersault", "--task", "hopper-backflip", "--teacher", "oracle", "--session", "/root/w"]
    with (
        screen() as display,
        subprocess.Popen(
            inside(fresh, *command), env={**_ENVIRON, "DISPLAY": display}, stderr=subprocess.PIPE, text=True
        ) as program,
    ):
        wait_for_answers(program, fresh / "root/w", _ENOUGH)
        if shutil.which("import"):
            subprocess.run(["import", "-display", display, "-window", "root", str(picture)], check=True)
            assert picture.stat().st_size > 20_000, "the window is blank"
        for window in psutil.Process(program.pid).children():  # unshare itself ignores the signal
            window.terminate()
        _, errors = program.communicate(timeout=60)
    assert (program.returncode, errors) == (0, "")
    assert answers(fresh / "root/w") >= _ENOUGH
    assert list((fresh / "root/w/checkpoints").iterdir())


@needs_root
def test_removing_the_package_leaves_no_trace(fresh: Path, within: Run, installed: set[str]) -> None:
    assert within("apt-get", "purge", "-y", "--auto-remove", "somersault").returncode == 0
    left = {name for name in files(fresh) - installed if not name.startswith(_OF_TRIGGERS)}
    assert not left
    assert not [name for name in files(fresh) if "somersault" in name]
    assert installed <= files(fresh) | {"/tmp"}

"""The wheel and the source archive, built and installed by the usual commands in an environment with only Python.

    .venv/bin/python -m pytest -m slow tests/e2e/test_wheel.py

pip must reach a package index. The checkout is not on the path of the tested programs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from pathlib import Path

import pytest

from tests.e2e.bundle import answers, screen, started, taught
from tests.screens import ROOT, running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.platform != "linux", reason="draws on a virtual screen of Linux"),
]
_FIRST_MOVE_SECONDS = 900


def environment(folder: Path, *requirements: object) -> Path:
    """Make an environment with these requirements at the locked versions; return its bin folder."""
    venv.create(folder, with_pip=True)
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--constraint", ROOT / "packaging/constraints.txt"]
    subprocess.run([*map(str, pip), *map(str, requirements)], check=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, which have passed `twine check`."""
    folder = tmp_path_factory.mktemp("built")
    tools = environment(folder / "tools", "build", "twine")
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, listed):  # the checkout without ignored files, such as an older build/
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / "source" / name)
    subprocess.run(
        [tools / "python", "-m", "build", "--outdir", folder / "dist", folder / "source"],
        check=True,
        stdout=subprocess.PIPE,
    )
    subprocess.run([tools / "twine", "check", "--strict", *(folder / "dist").iterdir()], check=True)
    return folder / "dist"


@pytest.fixture(scope="module")
def command(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed `somersault`."""
    return environment(tmp_path_factory.mktemp("installed") / "venv", next(built.glob("*.whl"))) / "somersault"


def home(folder: Path, display: str | None = None) -> dict[str, str]:
    """Return the environment variables of a person who has just logged in."""
    plain = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return plain | ({"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"} if display else {})


def test_the_wheel_has_all_resources_and_the_archive_the_whole_checkout(built: Path) -> None:
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    packed = set(zipfile.ZipFile(next(built.glob("*.whl"))).namelist())
    assert [name for name in tracked if name.startswith(("resources/", "core/", "app/")) and name not in packed] == []
    assert not [name for name in packed if name.startswith(("tests/", "packaging/"))]
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert [name for name in tracked if name not in names and not name.startswith((".ci/", ".github/"))] == []


def test_the_installed_command_teaches(command: Path, tmp_path: Path) -> None:
    teach = "teach hopper-backflip --teacher oracle --labels 10 --steps 60000 --json --session"
    done = started([command, *teach.split(), tmp_path / "s"], home(tmp_path))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["labels"] == 10
    assert "kneel" in started([command, "behaviours"], home(tmp_path)).stdout  # a file of resources/


def test_the_installed_window_teaches(command: Path, tmp_path: Path) -> None:
    """The window's child processes are spawned from the installed command."""
    with screen() as display:
        teach = [command, "--task", "hopper-backflip", "--teacher", "oracle", "--session", tmp_path / "s"]
        done = taught(teach, home(tmp_path, display), tmp_path / "s", 1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert answers(tmp_path / "s") >= 1


def test_without_arguments_the_start_page_opens(command: Path, tmp_path: Path) -> None:
    """The page draws the robot of a person's own behaviour, which has no shipped clip."""
    own = tmp_path / ".local/share/somersault/behaviours/kneel.json"
    own.parent.mkdir(parents=True)
    shutil.copy(ROOT / "resources/behaviours/walker-kneel.json", own)
    with screen() as display:
        options = {"env": home(tmp_path, display), "cwd": tmp_path, "stderr": subprocess.PIPE}
        with running([command], **options) as program:
            deadline = time.monotonic() + _FIRST_MOVE_SECONDS
            while program.poll() is None and not list(tmp_path.rglob("*.jpg")) and time.monotonic() < deadline:
                time.sleep(0.2)
            program.terminate()
            assert program.communicate(timeout=60)[1] == "" and program.returncode == 0
    assert list(tmp_path.rglob("*.jpg")), "no robot was drawn"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_load_the_completions(command: Path, tmp_path: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    load = {
        "bash": 'eval "$(somersault completion bash)" && complete -p somersault',
        "zsh": 'autoload -U compinit && compinit -u && eval "$(somersault completion zsh)" && echo $_comps[somersault]',
        "fish": 'somersault completion fish | source; complete -C "somersault ev"',
    }
    environ = home(tmp_path) | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    done = started([shutil.which(shell) or shell, "-c", load[shell]], environ)
    assert {"bash": "_python_argcomplete", "zsh": "_python_argcomplete", "fish": "evaluate"}[shell] in done.stdout

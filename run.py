"""Set up Somersault and start it.

python3 run.py [ARGS]        set up, then open the window, which gets ARGS;
                             without a display, teach the Hopper headless and write a video
python3 run.py test [ARGS]   set up, then run the linters, and pytest with ARGS
python3 run.py slow [ARGS]   set up, then run only the tests marked slow

SOMERSAULT_TORCH_INDEX       the package index to look for PyTorch in besides pip's own (see CONTRIBUTING.md)
"""

# Standard library only: this runs before anything is installed.
from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import urllib.request
from datetime import datetime
from pathlib import Path

from app import system_libraries

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
STAMP = VENV / "installed.txt"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

VIRTUAL_SCREEN = {"Xvfb": "xvfb"}
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"  # from PyTorch's "Get started" page
_FIND = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ('PySide6', 'torch', 'mujoco'))))"
CHECKS = ("ruff check .", "ruff format --check .", "mypy core app somersault", "lint-imports --no-logo")


class SetupError(Exception):
    """Setup failed; the message tells the user what to do."""


def has_display(environ: dict[str, str], platform: str = sys.platform) -> bool:
    return platform in ("win32", "darwin") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def display_answers(environ: dict[str, str]) -> bool:
    """True unless DISPLAY names an X server that does not answer; Wayland is not asked."""
    if sys.platform != "linux" or environ.get("WAYLAND_DISPLAY") or not system_libraries.loads("libxcb.so.1"):
        return True
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    return bool(xcb.xcb_connection_has_error(xcb.xcb_connect(environ["DISPLAY"].encode(), None)) == 0)


def has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None or Path("/proc/driver/nvidia").exists()


def has_font() -> bool:
    folders = ("/usr/share/fonts", "/usr/local/share/fonts", os.path.expanduser("~/.local/share/fonts"))
    files = (name for folder in folders for _, _, names in os.walk(folder) for name in names)
    return any(name.endswith((".ttf", ".otf", ".ttc")) for name in files)


def missing_packages(window: bool, virtual_screen: bool) -> list[str]:
    """Debian packages for what this machine lacks, in a fixed order."""
    x11 = virtual_screen or bool(os.environ.get("DISPLAY"))
    screen = system_libraries.X11 if x11 else system_libraries.WAYLAND
    window_tables = (system_libraries.WIDGETS, screen) if window else ()
    missing = system_libraries.missing_packages(system_libraries.RENDERING, *window_tables)
    missing += ["fonts-dejavu-core"] if window and not has_font() else []
    tools = VIRTUAL_SCREEN if virtual_screen else {}
    missing += [package for tool, package in tools.items() if not shutil.which(tool)]
    return missing + ([] if PYTHON.exists() or importlib.util.find_spec("ensurepip") else [venv_package()])


def venv_package() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def apt_commands(packages: list[str]) -> list[list[str]]:
    return [["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages]]


def install_packages(packages: list[str], root: bool) -> None:
    if not shutil.which("apt-get"):
        raise SetupError(f"Install the equivalent of these Debian packages, then start again: {' '.join(packages)}.")
    if not root:
        line = " && ".join("sudo " + shlex.join(command) for command in apt_commands(packages))
        raise SetupError(f"Some system packages are missing; run this line, then start again:\n{line}")
    print(f"Installing system packages: {' '.join(packages)}", flush=True)
    for command in apt_commands(packages):
        call(command, "apt-get could not install the system packages", DEBIAN_FRONTEND="noninteractive")


def call(command: list[str], failure: str, **environ: str) -> None:
    own = {"PIP_USER": "0"}  # a person's setting, with which pip refuses to install into an environment
    if subprocess.call(command, cwd=ROOT, env={**os.environ, **own, **environ}) != 0:
        raise SetupError(f"{failure}; the lines above say why.")


def requirements(groups: tuple[str, ...]) -> list[str]:
    import tomllib  # here, so that an older Python gets as far as the message that it is too old

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["dependencies"] + [item for group in groups for item in project["optional-dependencies"][group]]


def torch_requirement(wanted: list[str]) -> str:
    """Return the requirement of torch, which is installed first, as its build depends on the index."""
    return next(item for item in wanted if item.startswith("torch"))


def torch_index(environ: dict[str, str], gpu: bool, platform: str = sys.platform) -> list[str]:
    """pip options that add an index for PyTorch: the usual one has only Linux builds with gigabytes of CUDA."""
    index = environ.get("SOMERSAULT_TORCH_INDEX", "")
    if not index and platform == "linux" and not gpu:
        if answers(TORCH_CPU_INDEX):
            index = TORCH_CPU_INDEX
        else:
            print(
                f"{TORCH_CPU_INDEX} does not answer, so the CUDA build of PyTorch may be installed, which is gigabytes larger."
            )
    return ["--extra-index-url", index] if index else []


def answers(index: str) -> bool:
    """True if this package index can be reached; behind a firewall pip falls back to its usual index."""
    try:
        with urllib.request.urlopen(f"{index}/torch/", timeout=5) as page:
            return bool(page.status == 200)
    except (OSError, ValueError):
        return False


def constrained() -> list[str]:
    """pip options that fix every package to the version that the tests ran with."""
    return ["--constraint", str(CONSTRAINTS)]


def digest(groups: tuple[str, ...]) -> str:
    """Digest of the requirements of these groups; other settings in pyproject.toml do not change it."""
    wanted = [*requirements(groups), CONSTRAINTS.read_text(encoding="utf-8")]
    return hashlib.sha256("\n".join(wanted).encode()).hexdigest()


def interpreter() -> str:
    """The Python that the environment runs, and the environment's place: packages of another one are not found."""
    return f"python {PYTHON.resolve()} in {VENV.resolve()}"


def is_installed(groups: tuple[str, ...]) -> bool:
    if not (PYTHON.exists() and STAMP.exists()):
        return False
    lines = STAMP.read_text(encoding="utf-8").splitlines()
    return digest(groups) in lines and interpreter() in lines


def install(groups: tuple[str, ...]) -> None:
    if is_installed(groups):
        return
    print(f"Setting up {VENV}; the first time takes some minutes.", flush=True)
    stamp = STAMP.read_text(encoding="utf-8").splitlines() if STAMP.exists() else []
    made_for = [line for line in stamp if line.startswith("python ")]
    moved = made_for not in ([], [interpreter()])  # the folder was moved, or the system has another Python now
    STAMP.unlink(missing_ok=True)
    pip = [str(PYTHON), "-m", "pip"]
    if moved or not PYTHON.exists() or subprocess.call([*pip, "--version"], stdout=subprocess.DEVNULL) != 0:
        call([sys.executable, "-m", "venv", "--clear", str(VENV)], f"Python could not make {VENV}")
    wanted, failure = requirements(groups), "pip could not install the Python packages"
    pip += ["install", *constrained(), "--disable-pip-version-check", "--no-input"]
    pip += [] if sys.stdout.isatty() else ["--quiet"]
    call([*pip, torch_requirement(wanted), *torch_index(dict(os.environ), has_gpu())], failure)
    call([*pip, *wanted], failure)
    call(
        [str(PYTHON), "-c", _FIND],
        f"pip has installed the packages elsewhere than in {VENV}: unset its target or prefix",
    )
    STAMP.write_text(f"{digest(())}\n{digest(groups)}\n{interpreter()}\n", encoding="utf-8")


def set_up(groups: tuple[str, ...], window: bool, virtual_screen: bool = False) -> None:
    if sys.platform == "linux" and (packages := missing_packages(window, virtual_screen)):
        install_packages(packages, root=os.geteuid() == 0)
    install(groups)


def start_command(display: bool, args: list[str], now: datetime) -> list[str]:
    """Command line of the window, or without a display of a headless run in a new session folder."""
    if display:
        return [str(PYTHON), "-m", "app", *args]
    name = f"hopper-backflip-{now:%Y%m%d-%H%M%S-%f}"
    teach = ["-m", "core", "teach", "hopper-backflip", "--teacher", "oracle", "--labels", "100", "--seed", "0"]
    folder = ROOT / "sessions" / name
    return [str(PYTHON), *teach, "--session", str(folder), "--video", f"{folder}.mp4"]


def start(args: list[str]) -> int:
    if args and not args[0].startswith("-"):
        raise SetupError(f"run.py has no command {args[0]!r}; python3 run.py --help lists the commands.")
    display = has_display(dict(os.environ))
    set_up((), window=display)
    window = bool(args) or display and display_answers(dict(os.environ))  # without a display, it says what is missing
    command = start_command(window, args, datetime.now())
    if not window:
        (ROOT / "sessions").mkdir(exist_ok=True)
        print(
            f"No display found: teaching the Hopper without a window. The video will be saved as {command[-1]}.",
            flush=True,
        )
    return hand_over(command)


def hand_over(command: list[str]) -> int:
    """Replace this process by the program, so that signals reach it; Windows can only wait for it.

    Paths in its arguments are relative to the current folder, from which nothing is imported.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
    if sys.platform == "win32":
        program = subprocess.Popen(command, env=environ)
        while program.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):  # the program receives Ctrl+C too, and saves the session
                program.wait()
        return program.returncode
    os.execve(command[0], command, environ)


def pytest_command(args: list[str]) -> list[str]:
    """Return the command: one process more than cores (tests also wait), at most four, on Linux each with a screen."""
    processes = min(4, (os.cpu_count() or 1) + 1)
    spread = ["-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]  # else the longest files come last
    return [str(PYTHON), "-m", "pytest", *spread, *args]


def run_tests(args: list[str], checks: tuple[str, ...] = CHECKS) -> int:
    set_up(("test", "dev", "figures", "onnx"), window=True, virtual_screen=sys.platform == "linux")
    failed = [check for check in checks if run_check(check) != 0]
    if failed:
        print(f"Failed: {', '.join(failed)}. The tests follow.", flush=True)
    environ = dict(os.environ)
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process that a test starts compiles the program again
    code = subprocess.call(pytest_command(args), cwd=ROOT, env=environ)
    return code or int(bool(failed))


def run_check(check: str) -> int:
    print(f"$ {check}", flush=True)
    tool, *args = check.split()
    return subprocess.call([str(PYTHON.parent / tool), *args], cwd=ROOT)


def main(args: list[str]) -> int:
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):  # an older Python may be asked to run this file
        others = [name for name in ("python3.14", "python3.13", "python3.12", "python3.11") if shutil.which(name)]
        remedy = f"start it with {others[0]} run.py" if others else "install one of these, then start run.py with it"
        raise SetupError(f"Somersault needs Python 3.11 to 3.14, and this is {sys.version.split()[0]}: {remedy}.")
    if args[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if args[:1] == ["test"]:
        return run_tests(args[1:])
    if args[:1] == ["slow"]:
        return run_tests(["-n", "0", "-s", "-m", "slow", *args[1:]], checks=())
    return start(args)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (SetupError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)

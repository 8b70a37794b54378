"""The decisions of run.py; nothing is installed."""

import http.server
import importlib
import sys
import threading
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app.system_libraries import RENDERING, WIDGETS, X11

NOW = datetime(2030, 1, 2, 3, 4, 5)


@pytest.fixture
def run() -> ModuleType:
    return importlib.import_module("run")


@pytest.fixture
def elsewhere(run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """run.py as if in an empty folder with a complete .venv."""
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["numpy>=2", "torch>=2.6,<3"]\n[project.optional-dependencies]\ntest = ["pytest"]\n'
    )
    (tmp_path / "constraints.txt").write_text("numpy==2.4.6\n")
    monkeypatch.setattr(run, "answers", lambda index: False)
    places = {"ROOT": ".", "CONSTRAINTS": "constraints.txt"}
    places |= {"VENV": ".venv", "STAMP": ".venv/stamp", "PYTHON": ".venv/python"}
    for name, path in places.items():
        monkeypatch.setattr(run, name, tmp_path / path)
    run.VENV.mkdir()
    run.PYTHON.touch()
    return run


@pytest.fixture
def calls(elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that run.py would run, in order; each succeeds."""
    calls: list[list[str]] = []

    def succeed(command: list[str], **_: object) -> int:
        calls.append(command)
        return 0

    monkeypatch.setattr(elsewhere.subprocess, "call", succeed)
    return calls


def no_library_but(run: ModuleType, monkeypatch: pytest.MonkeyPatch, *present: str) -> None:
    monkeypatch.setattr(run.system_libraries, "loads", lambda library: library in present)
    monkeypatch.setattr(run, "has_font", lambda: True)
    monkeypatch.setattr(run.shutil, "which", lambda tool: None)


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "win32", True),
    ],
)
def test_a_display_is_known_by_its_variables(
    run: ModuleType, environ: dict[str, str], platform: str, expected: bool
) -> None:
    assert run.has_display(environ, platform) is expected


@pytest.mark.skipif(sys.platform != "linux", reason="an X server is asked on Linux only")
def test_an_unresponsive_display_counts_as_none(run: ModuleType) -> None:
    if not run.system_libraries.loads("libxcb.so.1"):
        pytest.skip("there is no libxcb to ask with")
    assert not run.display_answers({"DISPLAY": ":987"})
    assert run.display_answers({"DISPLAY": ":987", "WAYLAND_DISPLAY": "wayland-0"})


def test_a_display_decides_between_the_window_and_teaching_headless(run: ModuleType) -> None:
    assert run.start_command(True, ["--task", "hopper-backflip"], NOW)[1:] == ["-m", "app", "--task", "hopper-backflip"]
    command = run.start_command(False, [], NOW)
    assert command[1:7] == ["-m", "core", "teach", "hopper-backflip", "--teacher", "oracle"]
    assert command[-1].endswith(".mp4") and command[-1].startswith(str(run.ROOT / "sessions"))
    assert run.start_command(False, [], NOW.replace(microsecond=1))[-3] != command[-3]  # a session folder of its own


def test_only_missing_packages_are_requested(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    rendering, window = [*RENDERING], [*WIDGETS, *X11]
    no_library_but(run, monkeypatch, *(set(rendering + window) - {"libGL.so.1", "libxcb-cursor.so.0"}))
    assert run.missing_packages(window=True, virtual_screen=False) == ["libgl1", "libxcb-cursor0"]
    no_library_but(run, monkeypatch, *rendering)  # headless
    assert run.missing_packages(window=False, virtual_screen=False) == []
    no_library_but(run, monkeypatch, *rendering, *window)  # tests without a display
    assert run.missing_packages(window=True, virtual_screen=True) == ["xvfb"]
    monkeypatch.delenv("DISPLAY")  # Wayland only
    no_library_but(run, monkeypatch, *rendering, *WIDGETS, "libwayland-client.so.0")
    assert run.missing_packages(window=True, virtual_screen=False) == ["libwayland-cursor0"]


def test_a_user_gets_one_line_to_copy(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    with pytest.raises(run.SetupError) as error:
        run.install_packages(["libgl1", "xvfb"], root=False)
    assert str(error.value).splitlines()[-1] == (
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends libgl1 xvfb"
    )


def test_root_installs_the_packages_at_once(
    elsewhere: ModuleType, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    elsewhere.install_packages(["libgl1"], root=True)
    assert [command[:2] for command in calls] == [["apt-get", "update"], ["apt-get", "install"]]
    assert calls[-1][-1] == "libgl1"


def test_the_pinned_version_of_torch_satisfies_the_project(run: ModuleType) -> None:
    from packaging.requirements import Requirement

    pins = run.CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    (version,) = (pin.removeprefix("torch==") for pin in pins if pin.startswith("torch=="))
    assert version in Requirement(run.torch_requirement(run.requirements(()))).specifier


@pytest.mark.parametrize(
    ("gpu", "platform", "reachable", "asked"),
    [
        (False, "linux", True, True),
        (False, "linux", False, False),
        (True, "linux", True, False),
        (False, "win32", True, False),
    ],
)
def test_linux_without_a_gpu_gets_the_small_build_if_available(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, gpu: bool, platform: str, reachable: bool, asked: bool
) -> None:
    monkeypatch.setattr(run, "answers", lambda index: reachable)
    assert run.torch_index({}, gpu, platform) == (["--extra-index-url", run.TORCH_CPU_INDEX] if asked else [])


def test_the_reachability_of_an_index_is_tested(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "torch").mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        try:
            assert run.answers(address)
            assert not run.answers(f"{address}/elsewhere")
        finally:
            server.shutdown()
            thread.join()
    assert not run.answers(address)


def test_torch_is_installed_before_its_dependents(
    elsewhere: ModuleType, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "has_gpu", lambda: False)
    monkeypatch.delenv("SOMERSAULT_TORCH_INDEX", raising=False)
    elsewhere.install(("test",))
    first, second = (command for command in calls if "install" in command)
    assert first[-1] == "torch>=2.6,<3"
    assert second[-3:] == ["numpy>=2", "torch>=2.6,<3", "pytest"]
    assert "find_spec" in calls[-1][-1]  # pip may be configured to install elsewhere


def test_the_installation_repeats_only_for_new_requirements_or_a_lost_environment(
    elsewhere: ModuleType, calls: list[list[str]]
) -> None:
    elsewhere.install(())
    assert not elsewhere.is_installed(("test",))
    elsewhere.install(("test",))
    assert elsewhere.is_installed(())  # the window starts immediately after a test run
    calls.clear()
    elsewhere.install(())
    assert calls == []
    pyproject = elsewhere.ROOT / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("numpy>=2", "numpy>=3"))
    assert not elsewhere.is_installed(())
    elsewhere.PYTHON.unlink()
    elsewhere.install(())
    assert "venv" in calls[0]


def test_the_environment_is_recreated_for_another_python_or_place(
    elsewhere: ModuleType, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("python 3 11 /here/.venv", "python 3 13 /here/.venv", "python 3 13 /there/.venv"):
        monkeypatch.setattr(elsewhere, "interpreter", lambda place=place: place)
        assert not elsewhere.is_installed(())
        elsewhere.install(())
        assert elsewhere.is_installed(())
        assert ["venv" in command for command in calls].count(True) == (place != "python 3 11 /here/.venv")
        calls.clear()


def test_paths_are_relative_to_the_callers_folder(elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(elsewhere.os, "execve", lambda path, command, environ: given.update(environ))
    monkeypatch.setattr(elsewhere.sys, "platform", "linux")
    monkeypatch.setenv("PYTHONPATH", "mine")
    here = Path.cwd()
    elsewhere.hand_over(["python", "-m", "app"])
    assert Path.cwd() == here and given["PYTHONSAFEPATH"] == "1"
    assert given["PYTHONPATH"].split(":") == [str(elsewhere.ROOT), "mine"]


@pytest.mark.parametrize(
    ("present", "remedy"), [("python3.13", "start it with python3.13 run.py"), ("", "install one")]
)
def test_an_unsupported_python_is_refused_with_advice(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, present: str, remedy: str
) -> None:
    monkeypatch.setattr(run.shutil, "which", lambda name: name if name == present else None)
    for version in ((3, 10, 13), (3, 15, 0)):
        monkeypatch.setattr(run.sys, "version_info", version)
        with pytest.raises(run.SetupError, match=f"needs Python 3.11 to 3.14.*{remedy}"):
            run.main([])


def test_explicit_commands_start_without_a_display(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(run, "has_display", lambda environ: False)
    monkeypatch.setattr(run, "set_up", lambda *_, **__: None)
    monkeypatch.setattr(run, "hand_over", lambda command: started.append(command) or 0)
    run.start(["--version"])
    assert started[0][1:] == ["-m", "app", "--version"]  # the program itself reports a missing display


def test_a_failed_installation_does_not_count_as_finished(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere.subprocess, "call", lambda command, **_: int("install" in command))
    with pytest.raises(elsewhere.SetupError, match="pip could not install"):
        elsewhere.install(())
    assert not elsewhere.is_installed(())


@pytest.mark.parametrize(("checks", "tests", "expected"), [(0, 0, 0), (1, 0, 1), (0, 5, 5), (1, 2, 2)])
def test_the_exit_code_reports_failed_checks_and_tests(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, checks: int, tests: int, expected: int
) -> None:
    monkeypatch.setattr(run, "set_up", lambda *_, **__: None)
    monkeypatch.setattr(run.subprocess, "call", lambda command, **_: tests if "pytest" in command else checks)
    assert run.main(["test"]) == expected

"""Child processes that answer requests: real light ones, some of which are killed."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core.errors import ChildDiedError, NotFiniteError, UserError
from core.system.child_process import ChildProcess, preload
from core.system.interrupts import STOPPING
from core.system.shared_memory import encode
from tests.core import failing
from tests.core.children import is_gone, left_open, left_open_falls_to, pid_of
from tests.processes import children
from tests.screens import run_python

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere children are spawned")
Spawn = Callable[[], ChildProcess]
LARGE = np.zeros(200_000)


@pytest.fixture(scope="module", autouse=True)
def tracker_running() -> None:
    """Start multiprocessing's tracker, which otherwise starts with the first child and opens a descriptor."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start a failing.Server; at the end of the test all have ended without leaving a descriptor open."""
    before, made = left_open(), list[ChildProcess]()

    def start() -> ChildProcess:
        made.append(ChildProcess("light", failing.run_server))
        made[-1].start()
        return made[-1]

    yield start
    while made:
        made[-1].close()
        made.pop().close()  # has no effect the second time
    assert left_open_falls_to(before)


def ask(child: ChildProcess, method: str, *arguments: object) -> object:
    child.request(method, *arguments)
    return child.answer(method)


def test_a_child_answers_and_forwards_its_log(spawn: Spawn, caplog: pytest.LogCaptureFixture) -> None:
    child = spawn()
    assert np.array_equal(ask(child, "echo", LARGE), LARGE)
    ask(child, "log", "the simulation diverged")
    assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
        ("core.jobs.light", "WARNING", "the simulation diverged")
    ]
    caplog.clear()
    pid = pid_of("light")
    child.close()
    assert is_gone(pid)


@pytest.fixture
def forked() -> Iterator[ChildProcess]:
    child = ChildProcess("forked", failing.run_server, torch=True)
    yield child
    child.close()


@on_linux
def test_forked_children_have_torch_and_only_modules_that_survive_a_fork(
    forked: ChildProcess,
) -> None:
    forked.start()
    modules = set(ask(forked, "modules"))
    assert "torch" in modules and not {"mujoco", "OpenGL", "ale_py", "cv2"} & modules
    pid = pid_of("forked")
    forked.kill()
    assert is_gone(pid)
    with pytest.raises(ChildDiedError, match="the forked process ended with exit code -9"):
        ask(forked, "modules")
    forked.close()


@on_linux
def test_the_fork_server_restarts_and_imports_nothing_from_the_users_folder(forked: ChildProcess) -> None:
    for name in ("torch", "core"):
        Path(name).mkdir()
        Path(name, "__init__.py").write_text("raise SystemExit('not this one')")
    preload()
    (process,) = [process for process, command in children().items() if "forkserver import main" in command]
    process.kill()
    assert is_gone(process.pid)
    forked.start()
    assert "torch" in ask(forked, "modules")


def test_a_child_that_is_killed_before_its_start_is_dead() -> None:
    child = ChildProcess("early", failing.run_server)
    child.kill()
    child.start()
    with pytest.raises(ChildDiedError, match="the early process ended"):
        ask(child, "hang")
    child.close()


def test_other_requests_are_answered_during_a_long_one(spawn: Spawn) -> None:
    child = spawn()
    child.request("work", 3)
    assert not child.answered("work", 0.0)
    assert [ask(child, "advance") for _ in range(3)] == [1, 2, 3]
    assert child.answer("work") == 3


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UserError("Bring the file back."), UserError),
        (NotFiniteError("policy", "the reward"), NotFiniteError),
        (MemoryError(), MemoryError),
        (BrokenPipeError(errno.EPIPE, "its own"), RuntimeError),  # does not mean that the parent is gone
    ],
)
def test_an_exception_of_a_child_is_raised_in_the_parent_with_its_traceback(
    spawn: Spawn, error: Exception, kind: type[Exception]
) -> None:
    child = spawn()
    with pytest.raises(kind) as failed:
        ask(child, "fail", error)
    text = str(error) if kind is not RuntimeError else f"BrokenPipeError: {error}"
    assert str(failed.value) == text and type(failed.value) is kind
    assert "Traceback" in failed.value.__notes__[0] and "failing.py" in failed.value.__notes__[0]


def test_a_child_ignores_signals_to_stop(spawn: Spawn) -> None:
    """A terminal, a service manager or a log-out sends these signals to the whole process group."""
    child = spawn()
    ask(child, "echo", 1)
    for number in STOPPING:
        os.kill(pid_of("light"), number)
    assert ask(child, "echo", 2) == 2


def test_a_killed_child_is_noticed_with_its_name_and_signal(spawn: Spawn) -> None:
    child = spawn()
    assert ask(child, "echo", 1) == 1
    pid = pid_of("light")
    os.kill(pid, signal.SIGKILL)
    assert is_gone(pid)
    with pytest.raises(ChildDiedError, match="^the light process ended with exit code -9$") as died:
        child.answer("echo")
    sent = pickle.loads(pickle.dumps(died.value))  # as when sent to another process
    assert sent.exit_code == -9 and str(sent) == str(died.value)
    envelope = encode(LARGE)
    for send in (lambda: child.send(LARGE), lambda: child.send(envelope)):
        with pytest.raises(ChildDiedError):
            send()
    envelope.close()


@pytest.mark.parametrize("niceness", ["low", "-1", "20"])
def test_a_wrong_niceness_is_one_sentence(niceness: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMERSAULT_NICE", niceness)
    with pytest.raises(UserError, match=f"SOMERSAULT_NICE is '{niceness}': set it to a number from 0 to 19"):
        ChildProcess("light", failing.run_server)


@on_linux
def test_a_temporary_folder_whose_path_is_too_long_is_reported_once_in_a_sentence(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 110)
    folder.mkdir()
    code = "from core.system.child_process import preload; preload(); preload()"
    done = run_python("-c", code, TMPDIR=str(folder))
    (line,) = done.stderr.splitlines()
    assert "too long: set TMPDIR to a folder with a shorter path" in line

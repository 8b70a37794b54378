"""The program as a process: bad input, signals, and the libraries that a process with a window loads."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app import __main__, application
from core.config import Config, replaced
from core.session.session import Session
from core.system import resources
from core.system.interrupts import STOPPING
from tests.screens import run_python

HEAVY = "print([name for name in ('torch', 'mujoco', 'gymnasium', 'cv2', 'ale_py') if name in sys.modules])"


def fresh_user(tmp_path: Path) -> dict[str, str]:
    return {name: str(tmp_path / name) for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run the program, and return the one sentence with which it ends."""
    monkeypatch.setattr(application, "warnings_to_stderr", lambda _: None)

    def run(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["app", *map(str, arguments)])
        assert __main__.main() == 2
        captured = capsys.readouterr()
        assert captured.out == "" and len(captured.err.strip().splitlines()) == 1 and "Traceback" not in captured.err
        return captured.err

    return run


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--labels -5", "labels"),
        ("--labels many", "many"),
        ("--seed -1", "seed"),
        ("--teacher cat", "cat"),
        ("--nonsense", "--nonsense"),
        ("--task juggling", "juggling"),
    ],
)
def test_bad_options_are_refused(refusal: Callable[..., str], line: str, words: str, tmp_path: Path) -> None:
    assert words in refusal("--session", tmp_path / "s", *line.split())
    assert not (tmp_path / "s").exists()


def test_a_folder_that_is_no_session_is_refused_and_left_alone(refusal: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    assert "not an empty folder" in refusal("--session", folder)
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    (folder / "config.json").write_text(json.dumps({"name": "left-pad"}))
    assert "settings are not of this version" in refusal("--session", folder)


def test_a_self_test_needs_an_empty_folder(refusal: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "picture.png").touch()
    assert refusal("--self-test", folder).endswith(f"{folder} is not an empty folder: name a new one.\n")
    assert [path.name for path in folder.iterdir()] == ["picture.png"]


def test_a_session_that_cannot_be_opened_is_refused(refusal: Callable[..., str], tmp_path: Path) -> None:
    with closing(Session.create(tmp_path / "s", Config(teacher="human", labels=100))):
        assert "open in another Somersault" in refusal("--session", tmp_path / "s")
    assert "--labels 100" in refusal("--session", tmp_path / "s", "--labels", 50)
    (tmp_path / "s" / "preferences").mkdir(exist_ok=True)
    (tmp_path / "s" / "preferences" / "log.jsonl").write_bytes(b"not a log, by any means\n" * 100)
    assert "damaged" in refusal("--session", tmp_path / "s")
    Session.create(tmp_path / "r", replaced(Config(), reward__target="returns")).close()
    assert "Only the oracle knows true returns" in refusal("--session", tmp_path / "r")


_WINDOW = f"""
import sys, tempfile, pathlib
from app.style import theme
from app.session.controller import Controller, State
from app.windows.main import MainWindow
from core.config import Config
from core.session.session import Session
from PySide6.QtWidgets import QApplication
from tests.app.fakes import Engine, make_query

qt = QApplication([])
qt.setQuitOnLastWindowClosed(False)
theme.apply(qt)
engine = Engine()
session = Session.create(pathlib.Path(tempfile.mkdtemp()) / 's', Config(teacher='oracle'))
controller = Controller(session, engine)
controller.labelling.set_teacher('oracle')
window = MainWindow(controller)
window.closed.connect(qt.quit)
controller.labelling.answer_kept.connect(window.close)
window.show()
def offer(state):
    if state == State.RUNNING:
        engine.offer(make_query())
controller.state_changed.connect(offer)
controller.start()
qt.exec()
import app.application
{HEAVY}
"""

_START_WINDOW = f"""
import sys
from functools import partialmethod
from pathlib import Path
import app.application as a
from app.previews.previews import Previews
Previews.__init__ = partialmethod(Previews.__init__, goals=Path('nowhere'))  # all tasks have clips
begin = a.Application.begin
def look(application, session):
    begin(application, session)
    def end(task, preview):
        if not preview.shows_goal:  # it was rendered here
            print('drawn', task)
            application.quit()
    application.start.grid.set_preview = end
a.Application.begin = look
if __name__ == '__main__':
    assert a.run([]) == 0
    {HEAVY}
"""


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("script", "output"), [(_WINDOW, []), (_START_WINDOW, ["drawn hopper-backflip"])])
def test_a_process_with_a_window_loads_no_heavy_library(tmp_path: Path, script: str, output: list[str]) -> None:
    (tmp_path / "look.py").write_text(script)
    done = run_python("-W", "error", tmp_path / "look.py", **fresh_user(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [*output, "[]"]
    drawn = {path.stem for path in tmp_path.rglob("*.jpg")}  # more than one if the next picture is quick
    assert {line.split()[1] for line in output} <= drawn and bool(drawn) == bool(output)


def test_the_window_is_refused_without_enough_memory(
    refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda *_: 2_100_000_000)
    assert "2.2 GB is needed" in refusal()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("number", [*STOPPING[1:], 0])
def test_a_signal_or_quit_after_closes_the_window_cleanly(tmp_path: Path, number: int) -> None:
    script = (
        "import os, app.application as p, tests.app.fakes as f; p.JobProcess = f.FakeProcess\n"
        "from PySide6.QtCore import QTimer\n"
        "start = p.Controller.start\n"
        f"kill = lambda: {int(number)} and os.kill(os.getpid(), {int(number)})\n"
        "from app.session.controller import State\n"
        "begun = lambda state: state == State.RUNNING and QTimer.singleShot(0, kill)\n"  # before this there is nothing to save
        "p.Controller.start = lambda c: (c.state_changed.connect(begun), start(c))\n"
        f"raise SystemExit(p.run(['--session', {str(tmp_path / 's')!r}, *{[] if number else ['--quit-after', '1']}]))"
    )
    done = run_python("-c", script)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s" / "checkpoints").exists()


_FROM_MENU = """
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
import app.display_check
from core.errors import UserError

def close():
    boxes = [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, QMessageBox)]
    print([(box.text(), box.textFormat().name) for box in boxes])
    boxes[0].close()

loop = QApplication.exec
QApplication.exec = lambda *_: (QTimer.singleShot(0, close), loop())[1]
app.display_check.show_error(UserError('Only a little is free: make room.'))
"""


@pytest.mark.parametrize(
    ("variable", "boxes"), [("1", "[('Only a little is free: make room.', 'PlainText')]\n"), ("", "")]
)
def test_without_a_terminal_errors_are_also_shown_in_a_message_box(variable: str, boxes: str) -> None:
    done = run_python("-c", _FROM_MENU, SOMERSAULT_FROM_MENU=variable)
    assert (done.returncode, done.stdout) == (0, boxes)
    assert done.stderr.splitlines()[0] == "Only a little is free: make room."

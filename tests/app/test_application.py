"""The program from the outside: bad input, no display, and what a process with a window has loaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from core.config import Config, replaced
from core.session.session import Session

ROOT = Path(__file__).resolve().parents[2]


def run_app(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, timeout=60, check=False
    )


def assert_one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_an_unknown_task(tmp_path: Path) -> None:
    done = run_app("--task", "juggling", "--session", tmp_path / "s", QT_QPA_PLATFORM="offscreen")
    assert_one_sentence(done, "juggling", "hopper-backflip")
    assert not (tmp_path / "s").exists()


def test_a_folder_that_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert_one_sentence(run_app("--session", tmp_path, QT_QPA_PLATFORM="offscreen"), "not an empty folder")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_config_of_another_program(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"name": "left-pad"}))
    assert_one_sentence(run_app("--session", tmp_path, QT_QPA_PLATFORM="offscreen"), "not one of this program")


def test_a_damaged_store(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    Session.create(folder, Config(teacher="human")).close()
    (folder / "preferences.sqlite").write_bytes(b"not a database, by any means" * 100)
    assert_one_sentence(run_app("--session", folder, QT_QPA_PLATFORM="offscreen"), "damaged")


def test_a_session_that_fits_to_true_returns(tmp_path: Path) -> None:
    Session.create(tmp_path / "s", replaced(Config(), reward__target="returns")).close()
    done = run_app("--session", tmp_path / "s", QT_QPA_PLATFORM="offscreen")
    assert_one_sentence(done, "Only the oracle knows true returns")


def test_a_session_open_in_another_program(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "s", Config(teacher="human"))
    done = run_app("--session", tmp_path / "s", QT_QPA_PLATFORM="offscreen")
    session.close()
    assert_one_sentence(done, "open in another Somersault")


def test_a_setting_that_an_existing_session_does_not_have(tmp_path: Path) -> None:
    Session.create(tmp_path / "s", Config(teacher="human", labels=100)).close()
    done = run_app("--session", tmp_path / "s", "--labels", 50, QT_QPA_PLATFORM="offscreen")
    assert_one_sentence(done, "--labels 100")


@pytest.mark.parametrize("line", ["--labels -5", "--labels many", "--seed -1", "--teacher cat", "--nonsense"])
def test_bad_numbers_and_words(line: str, tmp_path: Path) -> None:
    done = run_app("--session", tmp_path / "s", *line.split(), QT_QPA_PLATFORM="offscreen")
    assert_one_sentence(done)


_WINDOW_PROCESS = """
import sys, tempfile, pathlib
from app import theme
from app.controller import Controller
from app.windows.main import MainWindow
from core.config import Config
from core.session import Session
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
sys.path.insert(0, '.')
from tests.app.fakes import Engine, make_query

application = QApplication([])
application.setQuitOnLastWindowClosed(False)
theme.apply(application)
engine = Engine()
session = Session.create(pathlib.Path(tempfile.mkdtemp()) / 's', Config(teacher='oracle'))
controller = Controller(session, engine)
controller.labelling.set_teacher('oracle')
window = MainWindow(controller)
window.closed.connect(application.quit)
controller.labelling.answer_kept.connect(window.close)
window.show()
controller.start()
QTimer.singleShot(300, lambda: engine.offer(make_query()))
application.exec()
import app.program
print([name for name in ('torch', 'mujoco', 'gymnasium', 'cv2', 'ale_py') if name in sys.modules])
"""


def test_a_process_that_showed_and_answered_a_pair_loaded_nothing_heavy() -> None:
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(_WINDOW_PROCESS)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


_START_WINDOW = """
import sys
import app.program as p
from PySide6.QtCore import QTimer
begin = p.Program.begin
def look(program, session):
    begin(program, session)
    program.start.grid.set_preview = lambda task, preview: (print('drawn', task), program.quit())
p.Program.begin = look
if __name__ == '__main__':
    code = p.run([])
    print([name for name in ('torch', 'mujoco', 'gymnasium', 'cv2', 'ale_py') if name in sys.modules], code)
"""


def of_a_fresh_user(tmp_path: Path) -> dict[str, str]:
    """Nothing of the person at this machine is read or changed."""
    places = {name: str(tmp_path / name) for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    return {**os.environ, **places, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}


def test_the_start_window_has_its_pictures_drawn_and_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "look.py").write_text(_START_WINDOW)
    command = [sys.executable, "-W", "error", str(tmp_path / "look.py")]
    environ = of_a_fresh_user(tmp_path)
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["drawn hopper-backflip", "[] 0"]
    assert [path.name for path in tmp_path.rglob("*.jpg")] == ["hopper-backflip.jpg"]


def test_without_a_task_it_quits_after_the_time_given_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app", "--quit-after", "0.5"]
    environ = of_a_fresh_user(tmp_path)
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout == ""
    assert "Traceback" not in done.stderr and "QThread" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import os, app.application as p, tests.app.fakes as f; p.JobProcess = f.FakeProcess\n"
        "from PySide6.QtCore import QTimer\n"
        "start = p.Controller.start\n"
        f"kill = lambda: os.kill(os.getpid(), {int(number)})\n"
        "p.Controller.start = lambda c: (start(c), QTimer.singleShot(300, kill))\n"
        f"raise SystemExit(p.run(['--session', {str(tmp_path / 's')!r}]))"
    )
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s" / "checkpoints").exists()


_FROM_MENU = """
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
import app.telling
from core.errors import UserError

def close():
    boxes = [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, QMessageBox)]
    print([(box.text(), box.textFormat().name) for box in boxes])
    boxes[0].close()

loop = QApplication.exec
QApplication.exec = lambda *_: (QTimer.singleShot(0, close), loop())[1]
app.display_check.tell(UserError('Only a little is free: make room.'))
"""


@pytest.mark.parametrize(
    ("variable", "boxes"), [("1", "[('Only a little is free: make room.', 'PlainText')]\n"), ("", "")]
)
def test_from_a_menu_the_sentence_comes_in_a_box_too(variable: str, boxes: str) -> None:
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "SOMERSAULT_FROM_MENU": variable}
    command = [sys.executable, "-c", _FROM_MENU]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, boxes)
    assert done.stderr.splitlines()[0] == "Only a little is free: make room."


def test_from_a_menu_without_a_display_it_ends_all_the_same(tmp_path: Path) -> None:
    nowhere = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "", "SOMERSAULT_FROM_MENU": "1"}
    assert_one_sentence(run_app("--session", tmp_path / "s", **nowhere), "display")

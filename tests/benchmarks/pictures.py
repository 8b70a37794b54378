"""Pictures of every page, with real sessions and processes, and a contact sheet of them all.

    .venv/bin/python -m tests.benchmarks.pictures --out build/pictures

Makes its own virtual screens with xvfb-run: 1280x720, and 3840x2160 with a scale of 2; each page light and dark. First
teaches a person's session of the Hopper for some minutes by pressing the keys of the oracle's answers; --session DIR uses
an existing session instead. --readme also updates resources/readme/window.png. Takes about ten minutes on two cores.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QWidget

from app.application import Application
from app.command_line import parsed
from app.keys.commands import Command
from app.session.controller import Controller, State
from app.session.factory import create_session, open_or_create, session_config
from app.style import theme
from app.style.theme import Appearance
from app.windows.main import MainWindow
from core.types import Teacher
from tests.benchmarks import picture_deeds
from tests.benchmarks.windowed import application, close, parser, press_oracle_key, show, wait_seconds

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "resources" / "readme" / "window.png"
_LONGEST_SECONDS = 1800.0
_THUMBNAIL, _LINE, _GAP = 420, 22, 12
"""Pixels of the contact sheet: width of a picture, height of its name, space between."""


@dataclass(frozen=True)
class Screen:
    """A virtual screen. scale: Qt's scale factor"""

    name: str
    width: int
    height: int
    scale: int


SCREENS = (Screen("720p", 1280, 720, 1), Screen("4k", 3840, 2160, 2))


def main() -> None:
    made = parser(__doc__, answers=(40, "answers in the session that is taught"))
    made.add_argument("--out", type=Path, default=ROOT / "build" / "pictures")
    made.add_argument("--session", type=Path, help="a session of the window to show")
    made.add_argument("--readme", action="store_true", help="renew the README's picture too")
    made.add_argument("--only", choices=[screen.name for screen in SCREENS], help="only the pictures of this screen")
    made.add_argument("--part", help="used by the command itself")
    options = made.parse_args()
    if options.part == "teach":
        teach(options.session, options.answers)
    elif options.part:
        take(next(screen for screen in SCREENS if screen.name == options.part), options.session, options.out)
    else:
        make(options.out, options.session, options.answers, options.readme, options.only)


def make(out: Path, session: Path | None, answers: int, readme: bool, only: str | None) -> None:
    """Teach the session, take the pictures of all screens, and join them to a contact sheet."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="somersault-pictures-") as scratch:
        if session is None:
            session = Path(scratch) / "backflips"
            _run("teach", SCREENS[0], session, out, answers, Path(scratch))
        for screen in (screen for screen in SCREENS if only in (None, screen.name)):
            _run(screen.name, screen, session, out, answers, Path(scratch))
    contact_sheet(out)
    if readme:
        shutil.copyfile(out / "session-720p-light.png", README)


def _run(part: str, screen: Screen, session: Path, out: Path, answers: int, cache: Path) -> None:
    """Run this file again on its own screen, with its own settings and data.

    cache: folder of the start page's previews, shared by all screens
    """
    with tempfile.TemporaryDirectory(prefix="somersault-pictures-") as home:
        size = f"-screen 0 {screen.width}x{screen.height}x24"
        words = ["xvfb-run", "-a", "-s", size, sys.executable, "-m", "tests.benchmarks.pictures", "--part", part]
        words += ["--session", str(session), "--out", str(out), "--answers", str(answers)]
        folders = {f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CONFIG", "DATA")}
        folders["XDG_CACHE_HOME"] = str(cache)
        environment = {**os.environ, **folders, "QT_SCALE_FACTOR": str(screen.scale)}
        subprocess.run(words, cwd=ROOT, env=environment, check=True)


def until(done: Callable[[], bool], seconds: float = _LONGEST_SECONDS) -> None:
    """Process events until the condition holds, polling rarely, as the children need the processor. Raises SystemExit."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"The window did not get there within {seconds:.0f} seconds.")
        wait_seconds(0.1)


def teach(folder: Path, answers: int) -> None:
    """Answer this number of pairs in the window, and train as far as each answer allows."""
    with application():
        controller, window = show(create_session(folder, session_config("hopper-backflip")))
        controller.start()
        while controller.progress.labels < answers:
            until(lambda: window.clips.shown is not None and window.pair_page.has_pair)
            press_oracle_key(controller, window)
            wait_seconds(0.8)
        until(lambda: controller.course.holding)
        close(window)


class Photographer:
    """Camera that saves a page in light and in dark colours."""

    def __init__(self, screen: Screen, out: Path) -> None:
        self._screen, self._out = screen, out

    def take(self, widget: QWidget, name: str, screen: bool = False) -> None:
        """Save a picture. screen: the whole screen, including dialogs over the window"""
        for appearance in (Appearance.LIGHT, Appearance.DARK):
            theme.choose(appearance)
            wait_seconds(0.5)  # plots and previews follow
            grabbed = QApplication.primaryScreen().grabWindow(0) if screen else widget.grab()
            grabbed.save(str(self._out / f"{name}-{self._screen.name}-{appearance}.png"))
            print(f"{name} {self._screen.name} {appearance}", flush=True)


def take(screen: Screen, session: Path, out: Path) -> None:
    """Take the pictures of all pages on this screen."""
    with application() as (_, scratch):
        sessions = Path(os.environ["XDG_DATA_HOME"]) / "somersault" / "sessions"
        shutil.copytree(session, sessions / "backflips", dirs_exist_ok=True)
        (sessions / "backflips" / "lock").unlink(missing_ok=True)
        photographer = Photographer(screen, out)
        _take_start(photographer)
        _take_session(photographer, sessions / "backflips")
        _take_game(photographer, scratch / "pong")


def _fill_screen(window: QWidget) -> None:
    area = QApplication.primaryScreen().availableGeometry()
    window.setGeometry(area)
    window.activateWindow()


def _take_start(photographer: Photographer) -> None:
    program = Application(parsed([]))
    program.begin(None)
    start = program.start
    _fill_screen(start)
    until(lambda: not start.grid.missing())
    photographer.take(start, "start")
    start.show_form("hopper-backflip")
    wait_seconds(1)
    photographer.take(start, "new-session")
    start.show_new_behaviour()
    wait_seconds(4)
    photographer.take(start, "behaviour")
    picture_deeds.take_robot_file(photographer, start, until)
    program.close_down()


def _take_session(photographer: Photographer, folder: Path) -> None:
    options = parsed(["--session", str(folder), "--teacher", "human"])
    program = Application(options)
    program.begin(open_or_create(options))
    window, controller = program.open.window, program.open.controller
    ended: list[bool] = []
    program.ended.connect(lambda: ended.append(True))
    _fill_screen(window)
    photographer.take(window, "session-starting")
    _take_progress(photographer, window, controller)
    picture_deeds.take_pause(photographer, window, controller, until)
    picture_deeds.take_failure(photographer, window, controller, until)
    archive = folder.with_suffix(".somersault")
    picture_deeds.take_exports(photographer, window, controller, archive, until)
    for name, widget in _dialogs(window):
        wait_seconds(1)
        photographer.take(widget, name)
        widget.close()
    _take_demo(photographer, window, controller)
    picture_deeds.take_votes(photographer, window, controller, until)
    controller.stop()
    until(lambda: controller.state == State.STOPPED)
    wait_seconds(0.5)
    photographer.take(window, "session-stopped")
    window.run_action(Command.START_PAGE)
    until(lambda: program.open is None and program.start is not None)
    picture_deeds.take_import(photographer, program, archive, until)
    picture_deeds.take_lost_folder(photographer, program, until)
    program.quit()
    until(lambda: bool(ended))
    program.close_down()


def _take_progress(photographer: Photographer, window: MainWindow, controller: Controller) -> None:
    """Take pictures of the groups of plots, and of an earlier policy."""
    until(lambda: window.pair_page.has_pair and window.live.policy.shown is not None)
    window.clips.restart()
    photographer.take(window, "session")  # half a second later, in the middle of the clips
    window.true_reward.hide(False)
    before = controller.progress.labels
    press_oracle_key(controller, window)
    until(lambda: controller.progress.labels > before)
    for index, name in enumerate(("learning", "reward", "session")):
        window.plots.setCurrentIndex(index)
        wait_seconds(2)
        until(lambda: window.pair_page.has_pair)
        photographer.take(window, f"session-{name}")
    window.plots.setCurrentIndex(0)
    window.live.slider.setValue(len(controller.policy_history.snapshots) // 2)
    wait_seconds(0.05)
    photographer.take(window, "session-loading-earlier")
    until(lambda: window.live.policy.shown is not None and window.live.policy.shown.snapshot is not None)
    photographer.take(window, "session-earlier")
    window.live.go_live()


def _take_demo(photographer: Photographer, window: MainWindow, controller: Controller) -> None:
    window.run_action(Command.DEMO)
    demo = window.watching_commands.demo
    until(lambda: demo.side.now.shown is not None and demo.side.before.shown is not None)
    wait_seconds(2)
    photographer.take(demo, "demo")
    controller.labelling.set_teacher(Teacher.ORACLE)
    wait_seconds(0.5)
    photographer.take(demo, "demo-oracle")
    picture_deeds.take_demo_failure(photographer, demo, controller, until)
    demo.close()
    controller.labelling.set_teacher(Teacher.HUMAN)


def _dialogs(window: MainWindow) -> Iterator[tuple[str, QWidget]]:
    """Take pictures of the dialogs of a session."""
    window.run_action(Command.HISTORY)
    page = window.history_commands.page
    until(lambda: page.pane.clips.shown is not None)
    yield "history", page
    window.plots.enlarge(window.plots.all_plots()["measure"].spec)
    yield "plot", window.plots.enlarged["measure"]
    for command, name in ((Command.KEY_LIST, "keys"), (Command.GLOSSARY, "glossary"), (Command.ABOUT, "about")):
        window.run_action(command)
        yield name, _opened(window, QDialog)
    window.run_action(Command.EXPORT)
    yield "file-dialog", _opened(window, QFileDialog)


def _opened(window: QWidget, kind: type[QWidget]) -> QWidget:
    return next(dialog for dialog in window.findChildren(kind) if dialog.isVisible())


def _take_game(photographer: Photographer, folder: Path) -> None:
    controller, window = show(create_session(folder, session_config("pong")))
    _fill_screen(window)
    controller.start()
    until(lambda: window.pair_page.has_pair)
    wait_seconds(1)
    photographer.take(window, "game")
    window.run_action(Command.PLAY_GAME)
    playing = window.playing.window
    until(lambda: playing.pixels is not None)
    QTest.keyClick(playing, Qt.Key.Key_Up)
    wait_seconds(1)
    photographer.take(playing, "game-play")
    close(window)


def contact_sheet(out: Path) -> None:
    """Join all pictures of the folder to contact-sheet.png, one row per page, with their names."""
    looks = [f"{screen.name}-{appearance}" for screen in SCREENS for appearance in (Appearance.LIGHT, Appearance.DARK)]
    names = sorted({path.stem.removesuffix(f"-{look}") for look in looks for path in out.glob(f"*-{look}.png")})
    row_height = _THUMBNAIL * 9 // 16 + _LINE + _GAP
    size = QSize((_THUMBNAIL + _GAP) * len(looks) + _GAP, row_height * len(names) + _GAP)
    sheet = QImage(size, QImage.Format.Format_RGB32)
    sheet.fill(QColor("#808080"))
    app = QApplication.instance() or QApplication([*sys.argv[:1], "-platform", "offscreen"])
    painter = QPainter(sheet)
    for row, name in enumerate(names):
        for column, look in enumerate(looks):
            place = QRect(_GAP + column * (_THUMBNAIL + _GAP), _GAP + row * row_height, _THUMBNAIL, _LINE)
            painter.drawText(place, f"{name} {look}")
            picture = QImage(str(out / f"{name}-{look}.png"))
            if not picture.isNull():
                room = QSize(_THUMBNAIL, row_height - _LINE - _GAP)
                keep, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
                painter.drawImage(place.left(), place.bottom() + 1, picture.scaled(room, keep, smooth))
    painter.end()
    sheet.save(str(out / "contact-sheet.png"))
    del app


if __name__ == "__main__":
    main()

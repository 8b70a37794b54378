"""Seconds from a fresh start page to the first answer about a behaviour of one's own, by keys and mouse.

    xvfb-run -a -s '-screen 0 1600x1000x24' .venv/bin/python -m tests.benchmarks.first_answer

Runs the real program with its child processes and empty folders. Only a name and an instruction are typed; five practice
pairs are answered first, and kept. Prints the seconds after each step, and the load of the machine.
"""

from __future__ import annotations

import os
import tempfile
import time

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.application import Application
from app.behaviours.practice import PAIRS
from app.command_line import parsed
from tests.benchmarks.windowed import application, parser, wait

NAME, SENTENCE = "Kneeling", "Choose the clip in which the robot kneels more steadily."


def press(key: Qt.Key) -> None:
    """Press a key on the focused control, which must be in the active window, as with a real keyboard."""
    wait(lambda: QApplication.activeWindow() is not None)
    QTest.keyClick(QApplication.focusWidget() or QApplication.activeWindow(), key)


def write(text: str) -> None:
    focused = QApplication.focusWidget()
    QTest.keyClicks(focused, text)


def main() -> None:
    parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="somersault-benchmark-") as home:
        for kind in ("CONFIG", "DATA", "CACHE"):
            os.environ[f"XDG_{kind}_HOME"] = f"{home}/{kind.lower()}"
        with application():
            walk()


def walk() -> None:
    program, started = Application(parsed([])), time.monotonic()

    def tell(step: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  load {os.getloadavg()[0]:4.1f}  {step}", flush=True)

    program.begin(None)
    start = program.start
    page, practice = start.behaviour_page, start.behaviour_page.practice
    wait(start.grid.new_card.hasFocus)
    tell("start page")
    press(Qt.Key.Key_Return)
    wait(page.robots.cards["hopper"].hasFocus)
    press(Qt.Key.Key_Right)  # the Walker
    for words in (NAME, SENTENCE):
        press(Qt.Key.Key_Tab)
        write(words)
    tell("name and sentence")
    QTest.mouseClick(page.practise, Qt.MouseButton.LeftButton)
    for number in range(PAIRS):
        wait(lambda: practice.clips.shown is not None and not practice.flash_timer.isActive())
        press(Qt.Key.Key_Left)
        assert len(practice.answers) == number + 1
    wait(lambda: not practice.flash_timer.isActive())
    tell("practice pairs")
    press(Qt.Key.Key_Return)
    wait(lambda: program.open is not None)
    window, progress = program.open.window, program.open.controller.progress
    wait(lambda: window.isActiveWindow() and window.pair_page.has_pair)
    tell("first pair of the session")
    press(Qt.Key.Key_Left)
    wait(lambda: progress.labels == PAIRS + 1)
    tell("first answer")
    ended: list[bool] = []
    program.ended.connect(lambda: ended.append(True))
    program.quit()
    wait(lambda: bool(ended))
    program.close_down()


if __name__ == "__main__":
    main()

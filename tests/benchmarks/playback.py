"""Frame rhythm and key latency of the window while everything trains: real child processes, synthetic key presses.

    xvfb-run -a .venv/bin/python -m tests.benchmarks.playback --seconds 120
    xvfb-run -a -s '-screen 0 1920x1080x24' .venv/bin/python -m tests.benchmarks.playback --voters 200

With --voters no keys are pressed: an audience votes on each pair in demo mode, every guest once a second over the network,
and votes.jsonl is compared with the replies to the guests. Prints one JSON object. Run it on an idle machine; it asserts
nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QMessageBox

from app.clips.clip_pair import ClipPair
from app.clips.clip_player import ClipPlayer
from app.keys.commands import Command
from app.labelling.pair_queue import Pair
from app.session.controller import Controller
from app.session.factory import session_config
from app.windows.main import MainWindow
from core.config import Config
from core.session.session import Session
from core.types import Teacher
from core.voting.record import read_votes
from tests.benchmarks.windowed import application, close, parser, press_oracle_key, show, trains, wait, wait_seconds

_NOMINAL = 1000 / 30
_BEAT_MS = 5
_LABEL_EVERY_MS = 2500


class Probe(QObject):
    """Record of when clips were painted, when keys were pressed, and how long the event loop stalled."""

    def __init__(self, window: MainWindow, controller: Controller, presses: bool = True) -> None:
        """presses: whether a key is pressed for each pair"""
        super().__init__()
        self._window, self._controller = window, controller
        self.clips: ClipPair = window.clips
        """The clips on screen, which are watched."""
        self.intervals: list[float] = []
        self.waits: list[float] = []
        self.stalls: list[float] = []
        self.misses = 0
        self._painted: dict[ClipPlayer, tuple[int, int, float]] = {}
        self._pressed: tuple[float, Pair] | None = None
        self._beat_at = time.perf_counter()
        self._beat = QTimer(self, interval=_BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._beat.timeout.connect(self._on_beat)
        self._beat.start()
        self._press = QTimer(self, singleShot=True)
        self._press.timeout.connect(self._on_press)
        if presses:
            controller.labelling.pair_shown.connect(lambda pair: self._press.start(_LABEL_EVERY_MS))

    def painted(self, player: ClipPlayer) -> None:
        """Record a paint of a clip. An interval runs between two frames of one loop of a pair."""
        now, frames = time.perf_counter(), player.frames
        before = self._painted.get(player)
        if before and before[0] == id(frames) and before[1] < player.index:
            self.intervals.append(1000 * (now - before[2]))
        if before is None or before[:2] != (id(frames), player.index):
            self._painted[player] = (id(frames), player.index, now)
        shown = self.clips.shown
        if self._pressed and shown is not None and shown is not self._pressed[1] and frames is shown.right:
            flash = self._controller.labelling.flash_timer.interval()  # the answered pair stays meanwhile
            self.waits.append(1000 * (now - self._pressed[0]) - flash)
            self._pressed = None

    def _on_beat(self) -> None:
        now = time.perf_counter()
        self.stalls.append(1000 * (now - self._beat_at) - _BEAT_MS)
        self._beat_at = now

    def _on_press(self) -> None:
        shown = self.clips.shown
        if shown is None:
            return
        if self._controller.labelling.pairs.ready:
            self._pressed = (time.perf_counter(), shown)
        else:
            self.misses += 1
        press_oracle_key(self._controller, self._window)


def watch(probe: Probe) -> None:
    """Report each paint of the two clips to their probe."""
    paint = ClipPlayer.paintEvent

    def paint_and_report(player: ClipPlayer, event: QPaintEvent) -> None:
        paint(player, event)
        if player in (probe.clips.left, probe.clips.right):
            probe.painted(player)

    ClipPlayer.paintEvent = paint_and_report


def figures(probe: Probe, controller: Controller, seconds: float) -> dict[str, object]:
    intervals, waits = np.array(probe.intervals), np.array(probe.waits or [np.nan])
    return {
        "seconds": seconds,
        "frame_intervals": len(intervals),
        "interval_p50_over_nominal": round(float(np.percentile(intervals, 50)) / _NOMINAL, 3),
        "interval_p99_over_nominal": round(float(np.percentile(intervals, 99)) / _NOMINAL, 3),
        "interval_max_ms": round(float(intervals.max()), 1),
        "share_within_1.5": round(float((intervals <= 1.5 * _NOMINAL).mean()), 5),
        "key_to_next_pair_without_flash_median_ms": round(float(np.median(waits)), 1),
        "key_to_next_pair_without_flash_p99_ms": round(float(np.percentile(waits, 99)), 1),
        "keys": len(probe.waits),
        "keys_with_no_pair_ready": probe.misses,
        "event_loop_stall_max_ms": round(max(probe.stalls), 1),
        "event_loop_stall_p999_ms": round(float(np.percentile(probe.stalls, 99.9)), 1),
        "labels": controller.progress.labels,
        "env_steps": controller.progress.env_steps,
    }


def begin_votes(controller: Controller, window: MainWindow) -> ClipPair:
    """Open demo mode with the page for votes once training runs; return the clips on screen."""
    controller.labelling.set_teacher(Teacher.ORACLE)
    wait(lambda: trains(controller))
    window.commands[Command.VOTE].trigger()
    (box,) = window.findChildren(QMessageBox)
    box.button(QMessageBox.StandardButton.Yes).click()
    wait(lambda: bool(controller.votes.url))
    return window.watching_commands.demo.clips


def compare_votes(report: dict[str, Any], folder: Path) -> dict[str, object]:
    """Compare the replies to the guests with the votes on disk. The last round may have been open at the end."""
    rounds = [votes for _, votes in sorted(report.pop("last").items(), key=lambda item: int(item[0]))]
    kept = [votes.voters for _, votes in sorted(read_votes(folder).items())]
    closed = rounds[: len(kept)]
    lost = sum(
        votes.get(voter) != choice for ours, votes in zip(closed, kept, strict=True) for voter, choice in ours.items()
    )
    return {**report, "rounds": len(kept), "voters_in_each": [len(votes) for votes in kept], "votes_lost": lost}


def main() -> None:
    given = {
        "seconds": (120.0, "seconds measured"),
        "warm_up": (75.0, "seconds excluded at the start: training begins after 22 answers"),
    }
    more = {"voters": (0, "guests who vote in place of the keys"), "task": (Config().task, "what is taught")}
    options = parser(__doc__, **given, **more).parse_args()
    with application() as (_, scratch):
        controller, window = show(Session.create(scratch / "session", session_config(options.task)))
        probe = Probe(window, controller, presses=not options.voters)
        watch(probe)  # before the first paint, after which Qt keeps calling the method that it found
        controller.start()
        audience = None
        if options.voters:
            probe.clips = begin_votes(controller, window)
            # A lower priority: real phones would use no processor of this machine.
            command = ["nice", sys.executable, Path(__file__).with_name("voters.py"), controller.votes.url]
            command += ["--voters", options.voters, "--seconds", options.warm_up + options.seconds]
            audience = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
        wait_seconds(options.warm_up)
        for measured in (probe.intervals, probe.waits, probe.stalls):
            measured.clear()
        wait_seconds(options.seconds)
        result = figures(probe, controller, options.seconds)
        if audience is not None:
            rounds = controller.progress.labels
            wait(lambda: audience.poll() is not None)
            wait(lambda: controller.progress.labels > rounds)  # until the round that the guests left has ended
            report = json.loads(audience.communicate()[0])
            wait_seconds(1)
            result["votes"] = compare_votes(report, controller.session.folder)
            window.watching_commands.leave_demo()
        close(window)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

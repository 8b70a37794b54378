"""Pictures of tasks, taken from the cache or drawn one after the other."""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from app.previews.previews import GOALS, Preview, Previews, of_file, of_frames
from app.style.images import encoded
from core.service_events import PREVIEW_FPS
from core.tasks import CATALOGUE, behaviours
from tests.app.fakes import make_frames
from tests.app.start_page_driver import Drawer, Drawers
from tests.core.builders import raising

Open = Callable[..., tuple[Previews, Drawers]]


@pytest.fixture
def open_previews(tmp_path: Path) -> Iterator[Open]:
    opened: list[Previews] = []

    def made(**attributes: object) -> tuple[Previews, Drawers]:
        drawers = Drawers(**attributes)
        opened.append(Previews(drawers, tmp_path / "cache", tmp_path / "goals"))
        return opened[-1], drawers

    yield made
    for previews in opened:
        previews.close()


def brought(qtbot: QtBot, previews: Previews, task: str) -> Preview:
    with qtbot.waitSignal(previews.preview_ready, check_params_cb=lambda name, _: name == task) as ready:
        previews.request(task)
    return ready.args[1]


def test_a_picture_is_drawn_once_and_then_comes_from_the_cache(open_previews: Open, qtbot: QtBot) -> None:
    previews, drawers = open_previews()
    drawn = brought(qtbot, previews, "gym:ALE/Pong-v5")
    later, others = open_previews()
    kept = brought(qtbot, later, "gym:ALE/Pong-v5")
    assert drawers.asked == ["gym:ALE/Pong-v5"] and others.made == []
    for preview in (drawn, kept):
        assert preview.count == 6
        assert preview.place(8).getRect() == (0, 2 * 48, 48, 48)
        assert _near(preview.strip.pixelColor(20, 2 * 48 + 5), QColor(40, 120, 200))
        assert _near(preview.strip.pixelColor(40, 2 * 48 + 5), QColor(0, 0, 0))


def _near(found: QColor, wanted: QColor) -> bool:
    pairs = zip(found.getRgb(), wanted.getRgb(), strict=True)
    return all(abs(a - b) < 12 for a, b in pairs)


@pytest.mark.parametrize("where", ["make", "send"])
def test_pictures_are_refused_without_a_child_and_later_ones_are_drawn(
    open_previews: Open, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    refuse = raising(OSError(errno.EMFILE, "Too many open files"))
    previews, _ = open_previews()
    with monkeypatch.context() as patch:
        patch.setattr(Drawers if where == "make" else Drawer, "__call__" if where == "make" else "send", refuse)
        with qtbot.waitSignal(previews.preview_refused) as refused:
            previews.request("a")
    assert refused.args[0] == "a" and "Too many open files" in refused.args[1]
    brought(qtbot, previews, "b")


def test_a_child_that_dies_affects_only_its_own_task(
    open_previews: Open, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    previews, drawers = open_previews(deadly=("b",))
    previews.request("a")
    with qtbot.waitSignal(previews.preview_refused) as refused:
        previews.request("b")
    brought(qtbot, previews, "c")
    assert refused.args == ["b", "b can't be rendered: the rendering process ended unexpectedly."]
    assert drawers.asked == ["a", "b", "c"]
    assert "previews process" in caplog.text


def test_nothing_is_drawn_while_previews_are_held_and_everything_afterwards(open_previews: Open, qtbot: QtBot) -> None:
    previews, drawers = open_previews(ignored=("slow",))
    previews.request("slow")
    qtbot.waitUntil(lambda: drawers.asked == ["slow"])
    previews.request("next")
    previews.hold(True)
    qtbot.waitUntil(lambda: drawers.made[0].stopped)
    assert drawers.asked == ["slow"]
    drawers.attributes = {}
    with qtbot.waitSignals([previews.preview_ready, previews.preview_ready]):
        previews.hold(False)
    assert drawers.asked == ["slow", "slow", "next"]


@pytest.mark.parametrize("content", [b"", b"no picture", b"\xff\xd8\xff"])
def test_a_damaged_file_in_the_cache_is_drawn_again(
    open_previews: Open, qtbot: QtBot, tmp_path: Path, content: bytes
) -> None:
    previews, _ = open_previews()
    brought(qtbot, previews, "a")
    (path,) = (tmp_path / "cache").glob("*.jpg")
    path.write_bytes(content)
    later, drawers = open_previews()
    assert brought(qtbot, later, "a").count == 6
    assert drawers.asked == ["a"]
    qtbot.waitUntil(lambda: len(path.read_bytes()) > 500)


def test_an_unwritable_cache_only_costs_time(
    open_previews: Open, qtbot: QtBot, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("in the way")
    previews, _ = open_previews()
    assert brought(qtbot, previews, "a").count == 6
    assert "can't be kept" in caplog.text


def test_a_clip_of_the_goal_is_preferred_to_random_motion_unless_it_is_damaged(
    open_previews: Open, qtbot: QtBot, tmp_path: Path
) -> None:
    previews, drawers = open_previews()
    assert not brought(qtbot, previews, "a").shows_goal
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "a.jpg").write_bytes(encoded(of_frames(make_frames(count=4)).strip, "JPG"))
    goal = brought(qtbot, previews, "a")
    assert goal.shows_goal and goal.count == 4
    (tmp_path / "goals" / "a.jpg").write_bytes(b"no picture")
    assert not brought(qtbot, previews, "a").shows_goal
    assert drawers.asked == ["a"]


def test_a_small_clip_of_the_goal_ships_for_each_task() -> None:
    figures = json.loads((GOALS / "clips.json").read_text("utf-8"))
    assert set(figures) == {*CATALOGUE, *behaviours()}
    for name in figures:
        clip = of_file(GOALS / f"{name}.jpg")
        assert (
            clip is not None
            and clip.count >= 2 * PREVIEW_FPS
            and clip.count == math.ceil(figures[name]["seconds"] * PREVIEW_FPS - 1e-9)
        )
    sizes = [path.stat().st_size for path in GOALS.glob("*.jpg")]
    assert len(sizes) == len(figures) and max(sizes) < 200_000 and sum(sizes) < 3_500_000

"""The start window: cards, the list of sessions, and what is done with them, by key and by mouse."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app import theme
from app.previews import Previews
from app.shelf import Shelf
from app.theme import Appearance
from app.windows.start import StartWindow
from core import summary
from core.archive import export_session
from core.config import Config
from core.preferences import PreferenceStore
from core.records import Choice
from core.session import Session
from core.summary import Summary
from core.tasks import CATALOGUE, find
from tests.app.clipping import clipped
from tests.app.drawers import Drawers
from tests.app.fakes import make_query

Picture = Callable[[QWidget, str], None]


class Page:
    """A shown start window over a folder of sessions; what was opened is in `opened`, what was thrown away in `trash`.

    trashes: whether there is a trash at all
    """

    def __init__(self, qtbot: QtBot, folder: Path, **whims: object) -> None:
        self.qtbot, self.root = qtbot, folder / "sessions"
        self.drawers = Drawers(**whims)
        self.opened: list[Session] = []
        self.trash: list[Path] = []
        self.trashes, self.closed = True, False
        self.window = StartWindow(Shelf(self.root, self._throw), Previews(self.drawers, folder / "cache"))
        self.window.opened.connect(self.opened.append)

    def _throw(self, path: str) -> bool:
        if self.trashes:
            Path(path).rename(self.root.parent / "trash")
            self.trash.append(Path(path))
        return self.trashes

    def show(self, width: int = 1280, height: int = 720) -> Page:
        self.window.resize(width, height)
        self.window.show()
        self.window.activateWindow()
        self.qtbot.waitUntil(self.window.isActiveWindow)
        self.qtbot.waitUntil(lambda: len(self.entries) == len(list(self.root.glob("*"))))
        return self

    @property
    def entries(self) -> list[str]:
        return [entry.folder.name for entry in self.window.list.entries.entries]

    @property
    def told(self) -> str:
        return self.window.banner.text() if self.window.banner.isVisible() else ""

    @property
    def chosen(self) -> str:
        current = self.window.list.current
        return current.folder.name if current else ""

    def clipped(self) -> list[str]:
        """Texts that are cut off, but those of cards that are still to be scrolled to."""
        cards = tuple(repr(task.title) for task in CATALOGUE.values())
        return [text for text in clipped(self.window) if not text.startswith(cards)]

    def wait_for_pictures(self) -> None:
        self.qtbot.waitUntil(lambda: not self.window.grid.missing(), timeout=20_000)

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(QApplication.focusWidget() or self.window, key, modifier)

    def click(self, text: str) -> None:
        (button,) = [b for b in self.window.front.findChildren(QPushButton) if b.text() == text]
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def click_row(self, row: int, twice: bool = False) -> None:
        place = self.window.list.visualRect(self.window.list.entries.index(row)).center()
        for click in (QTest.mouseClick, QTest.mouseDClick)[: 1 + twice]:
            click(self.window.list.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.window.close()
        self.window.close_down()
        for session in self.opened:
            session.close()
        self.window.deleteLater()


@pytest.fixture
def make_page(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    pages: list[Page] = []

    def made(**whims: object) -> Page:
        pages.append(Page(qtbot, tmp_path, **whims))
        return pages[-1]

    yield made
    for page in pages:
        page.close()


@pytest.fixture
def page(make_page: Callable[..., Page]) -> Page:
    return make_page()


def make_session(root: Path, name: str, task: str = "reacher", labels: int = 0, ago: float = 100.0) -> Path:
    """Written plainly: two hundred that are synced to the disk take seconds."""
    config = Config(task=task, teacher="human", labels=40)
    best = None if labels == 0 else labels / 8
    told = Summary(task, "human", labels, 40, 1000 * labels, find(task).measure_title, best, time.time() - ago)
    (root / name).mkdir(parents=True)
    (root / name / "config.json").write_text(json.dumps(config.to_dict()))
    (root / name / summary.NAME).write_text(json.dumps(asdict(told)))
    return root / name


def test_every_task_has_a_card_whose_picture_moves(page: Page, qtbot: QtBot, picture: Picture) -> None:
    page.show()
    cards = page.window.grid.cards
    assert list(cards) == list(CATALOGUE)
    page.wait_for_pictures()
    assert page.drawers.asked == list(CATALOGUE)
    card = cards["hopper-backflip"]
    assert card.accessibleName() == "Hopper: backflips"
    assert card.accessibleDescription() == CATALOGUE["hopper-backflip"].instruction
    seen: set[bytes] = set()

    def moves() -> bool:
        image = card.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        seen.add(bytes(image.constBits()))
        return len(seen) > 2

    qtbot.waitUntil(moves)


@pytest.mark.parametrize("look", [Appearance.DARK, Appearance.LIGHT])
def test_nothing_is_cut_off_on_a_small_screen(page: Page, qtbot: QtBot, look: Appearance, picture: Picture) -> None:
    theme.choose(look)
    try:
        make_session(page.root, "a-session-with-a-name-so-long-that-no-list-could-ever-show-it-whole", labels=12)
        page.show()
        page.wait_for_pictures()
        qtbot.waitUntil(lambda: page.clipped() == [])
        picture(page.window, f"start-{look}")
        page.window.tell_refusal(f"{page.root} is a folder with a very long name, of which there is much to say. " * 3)
        qtbot.waitUntil(lambda: page.clipped() == [])
        page.window.begin("reacher")
        qtbot.waitUntil(lambda: clipped(page.window.form) == [])
        picture(page.window, f"start-form-{look}")
        assert (page.window.width(), page.window.height()) == (1280, 720)
    finally:
        theme.choose(Appearance.DARK)


def test_until_its_picture_is_there_a_card_is_calm(make_page: Callable[..., Page], picture: Picture) -> None:
    page = make_page(ignored=("hopper-backflip",)).show()
    assert len(page.window.grid.missing()) == len(CATALOGUE)
    assert not page.window.grid.moving
    assert "being drawn" in page.window.grid.cards["ant"].accessibleDescription()
    picture(page.window, "start-drawing")


def test_a_task_that_cannot_be_drawn_says_so_and_can_be_taught(
    make_page: Callable[..., Page], qtbot: QtBot, caplog: pytest.LogCaptureFixture, picture: Picture
) -> None:
    page = make_page(refused={"swimmer": "swimmer can't be drawn: there is no OpenGL here."}).show()
    page.wait_for_pictures()
    card = page.window.grid.cards["swimmer"]
    assert card.problem == "swimmer can't be drawn: there is no OpenGL here."
    assert card.problem in card.accessibleDescription() and card.problem in caplog.text
    picture(page.window, "start-undrawable")
    card.click()
    assert page.window.form.draft.task == "swimmer"


def test_nothing_moves_while_the_window_is_hidden_and_pictures_come_back_from_the_cache(
    page: Page, qtbot: QtBot
) -> None:
    page.show()
    page.wait_for_pictures()
    assert page.window.grid.moving
    page.window.hide()
    assert not page.window.grid.moving
    assert all(card.preview is None for card in page.window.grid.cards.values())
    page.window.show()
    page.wait_for_pictures()
    assert page.window.grid.moving
    assert len(page.drawers.asked) == len(CATALOGUE)


def test_nothing_moves_behind_the_form(page: Page, qtbot: QtBot) -> None:
    page.show()
    page.wait_for_pictures()
    page.window.begin("reacher")
    assert not page.window.grid.moving
    qtbot.waitUntil(lambda: page.window.form.picture.moving)
    page.press(Qt.Key.Key_Escape)
    assert page.window.grid.moving and not page.window.form.picture.moving


def test_arrows_go_from_card_to_card_and_enter_chooses(page: Page, qtbot: QtBot) -> None:
    page.show()
    tasks, columns = list(CATALOGUE), page.window.grid._columns
    assert columns > 2
    qtbot.waitUntil(lambda: page.window.grid.cards[tasks[0]].hasFocus())

    def focused() -> str:
        return next((name for name, card in page.window.grid.cards.items() if card.hasFocus()), "")

    for key, expected in (
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Down, 1 + columns),
        (Qt.Key.Key_Up, 1),
        (Qt.Key.Key_Up, 1),
        (Qt.Key.Key_End, len(tasks) - 1),
        (Qt.Key.Key_Right, len(tasks) - 1),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Right, 1),
    ):
        page.press(key)
        assert focused() == tasks[expected]
    page.press(Qt.Key.Key_Tab)
    assert focused() == ""
    page.press(Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    assert focused() == tasks[1]
    page.press(Qt.Key.Key_Return)
    assert page.window.pages.currentWidget() is page.window.form
    assert page.window.form.draft.task == tasks[1]
    page.press(Qt.Key.Key_Escape)
    assert focused() == tasks[1]


def test_every_control_is_reached_by_tab(page: Page) -> None:
    make_session(page.root, "s")
    page.show()
    seen = set()
    for _ in range(12):
        focus = QApplication.focusWidget()
        seen.add(focus.text() if isinstance(focus, QPushButton) else type(focus).__name__)
        page.press(Qt.Key.Key_Tab)
    buttons = {"Open", "Duplicate", "Trash", "Show folder", "Import…", "Open folder…", "A &Gymnasium environment…"}
    assert seen == buttons | {"TaskCard", "SessionList"}


def test_without_sessions_it_says_what_to_do(page: Page, picture: Picture) -> None:
    page.show()
    page.wait_for_pictures()
    assert page.window.list_place.currentWidget() is page.window.empty
    assert "Choose a task" in page.window.empty.text()
    assert not any(action.isEnabled() for action in page.window.of_chosen)
    picture(page.window, "start-empty")


def test_two_hundred_sessions(page: Page, qtbot: QtBot, picture: Picture) -> None:
    tasks = list(CATALOGUE)
    for number in range(200):
        name = f"{tasks[number % len(tasks)]}-{number}"
        make_session(page.root, name, tasks[number % len(tasks)], number % 41, ago=3600.0 * number)
    page.show()
    assert page.entries[0] == f"{tasks[0]}-0" and len(page.entries) == 200
    assert page.window.list.hasFocus() and page.chosen == page.entries[0]
    page.wait_for_pictures()
    picture(page.window, "start-many")
    page.press(Qt.Key.Key_End)
    assert page.chosen.endswith("-199")
    page.window.resize(1920, 1080)
    picture(page.window, "start-large")
    asked = len(page.window.list.entries._pictures)
    assert asked < 60  # only those that were seen


def test_a_row_is_spoken_in_a_sentence(page: Page) -> None:
    make_session(page.root, "mine", "hopper-backflip", 20)
    page.show()
    model = page.window.list.entries
    spoken = model.data(model.index(0), Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "mine, Hopper: backflips, 20 of 40 labels, best 2.5  ·  Backflips an episode (8 s)"


def test_its_own_last_picture_is_shown_and_else_its_tasks(page: Page, qtbot: QtBot) -> None:
    own, other = make_session(page.root, "own", ago=1), make_session(page.root, "other", ago=2)
    image = QImage(192, 192, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    image.save(str(own / summary.PICTURE))
    page.show()
    page.wait_for_pictures()
    model = page.window.list.entries
    shown = {entry.folder: entry for entry in model.entries}

    def red(folder: Path) -> bool:
        found = model.picture(shown[folder])
        return found is not None and found.pixelColor(90, 90).red() > 200

    qtbot.waitUntil(lambda: red(own))
    assert not red(other)


@pytest.mark.parametrize("way", ["enter", "double click", "button"])
def test_a_session_is_opened(page: Page, qtbot: QtBot, way: str) -> None:
    make_session(page.root, "first", ago=1)
    folder = make_session(page.root, "second", ago=2)
    page.show()
    if way == "enter":
        page.press(Qt.Key.Key_Down)
        page.press(Qt.Key.Key_Return)
    elif way == "double click":
        page.click_row(1, twice=True)
    else:
        page.click_row(1)
        page.click("Open")
    qtbot.waitUntil(lambda: [session.folder for session in page.opened] == [folder])


def test_a_session_that_is_open_elsewhere_is_told_of_and_free_for_the_next_try(
    page: Page, qtbot: QtBot, picture: Picture
) -> None:
    folder = make_session(page.root, "busy")
    other = Session.open(folder)
    page.show()
    page.press(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "open in another Somersault" in page.told)
    assert page.opened == [] and page.window.pages.isEnabled()
    picture(page.window, "start-locked")
    other.close()
    page.press(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(page.opened) == 1)


@pytest.mark.parametrize("damage", ["config.json", "preferences.sqlite"])
def test_a_damaged_session_is_listed_and_not_opened(page: Page, qtbot: QtBot, damage: str, picture: Picture) -> None:
    make_session(page.root, "whole", ago=50)
    folder = make_session(page.root, "broken", ago=1)
    (folder / summary.NAME).unlink()
    (folder / damage).write_bytes(b"not what it was, by any means" * 100)
    page.show()
    assert page.entries == ["broken", "whole"]
    problem = page.window.list.entries.entries[0].problem
    assert problem.count(".") >= 1 and "\n" not in problem
    picture(page.window, f"start-damaged-{damage.split('.')[0]}")
    page.press(Qt.Key.Key_Return)
    assert page.told == problem
    assert page.opened == [] and page.window.shelf._working._tasks.empty()


def test_damage_that_only_opening_finds_is_told_of(page: Page, qtbot: QtBot) -> None:
    folder = make_session(page.root, "broken")
    (folder / "preferences.sqlite").write_bytes(b"not a database, by any means" * 100)
    page.show()
    page.press(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "damaged" in page.told)
    Session.open(folder).close()  # it was let go


@pytest.mark.parametrize("way", ["key", "button", "menu"])
def test_a_session_is_duplicated(page: Page, qtbot: QtBot, way: str) -> None:
    folder = make_session(page.root, "mine", labels=20)
    with closing(PreferenceStore(folder / "preferences.sqlite")) as store:
        store.add(make_query(), Choice.LEFT, "human")
    page.show()
    if way == "key":
        page.press(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    elif way == "button":
        page.click("Duplicate")
    else:
        (action,) = [action for action in page.window.list.actions() if action.text() == "Duplicate"]
        action.trigger()
    qtbot.waitUntil(lambda: page.chosen == "mine-copy-1")
    assert page.told == "mine-copy-1 is a copy of mine."
    with closing(PreferenceStore(page.root / "mine-copy-1" / "preferences.sqlite")) as store:
        assert store.count() == 1


def test_copying_tells_how_far_it_is(page: Page, qtbot: QtBot) -> None:
    folder = make_session(page.root, "mine")
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "00000001.safetensors").write_bytes(bytes(3 << 20))
    with closing(PreferenceStore(folder / "preferences.sqlite")):
        pass
    page.show()
    told: list[str] = []
    page.window.shelf.progressed.connect(told.append)
    page.click("Duplicate")
    qtbot.waitUntil(lambda: page.chosen == "mine-copy-1")
    assert told[0] == "Copying mine: 0%" and told[-1] == "Copying mine: 100%"
    assert len(told) >= 4


@pytest.mark.parametrize("way", ["key", "button"])
def test_a_session_goes_to_the_trash_and_its_neighbour_is_chosen(page: Page, qtbot: QtBot, way: str) -> None:
    for number, name in enumerate(("a", "b", "c")):
        make_session(page.root, name, ago=float(number))
    page.show()
    page.click_row(1)
    if way == "key":
        page.press(Qt.Key.Key_Delete)
    else:
        page.click("Trash")
    qtbot.waitUntil(lambda: page.entries == ["a", "c"])
    assert page.trash == [page.root / "b"] and page.chosen == "c"
    assert "b is in the trash" in page.told


def test_without_a_trash_the_session_is_kept_and_that_is_said(page: Page, qtbot: QtBot, picture: Picture) -> None:
    folder = make_session(page.root, "mine")
    page.trashes = False
    page.show()
    page.press(Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: "mine is kept" in page.told)
    assert (folder / "config.json").exists() and page.entries == ["mine"]
    picture(page.window, "start-trash-refused")


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_D])
def test_what_is_open_elsewhere_is_neither_thrown_away_nor_copied(page: Page, qtbot: QtBot, key: Qt.Key) -> None:
    other = Session.open(make_session(page.root, "busy"))
    page.show()
    page.press(key, Qt.KeyboardModifier.ControlModifier if key == Qt.Key.Key_D else Qt.KeyboardModifier.NoModifier)
    qtbot.waitUntil(lambda: "open in another Somersault" in page.told)
    other.close()
    assert page.trash == [] and [path.name for path in page.root.iterdir()] == ["busy"]


def take(page: Page, path: Path) -> None:
    """In the dialog that is open."""
    dialog = page.window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.close()


@pytest.mark.parametrize("way", ["key", "button"])
def test_an_exported_session_is_imported(page: Page, qtbot: QtBot, tmp_path: Path, way: str) -> None:
    folder = make_session(page.root, "mine")
    session = Session.open(folder)
    export_session(session, tmp_path / "mine.somersault")
    session.close()
    page.show()
    if way == "key":
        page.press(Qt.Key.Key_I, Qt.KeyboardModifier.ControlModifier)
    else:
        page.click("Import…")
    take(page, tmp_path / "mine.somersault")
    qtbot.waitUntil(lambda: page.chosen == "mine-1")
    assert page.told == "mine-1 is imported."
    assert page.window.list.entries.entries[0].problem == ""


def test_a_file_that_is_no_session_is_not_imported(page: Page, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "thesis.pdf").write_text("mine")
    page.show()
    page.click("Import…")
    take(page, tmp_path / "thesis.pdf")
    qtbot.waitUntil(lambda: "no exported session" in page.told)
    assert page.entries == []


@pytest.mark.parametrize("opens", [True, False])
def test_its_folder_is_shown(page: Page, monkeypatch: pytest.MonkeyPatch, opens: bool) -> None:
    folder, shown = make_session(page.root, "mine"), list[str]()
    monkeypatch.setattr(
        "app.windows.start.QDesktopServices.openUrl", lambda url: (shown.append(url.toLocalFile()), opens)[1]
    )
    page.show()
    page.press(Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    page.click("Show folder")
    assert shown == [str(folder)] * 2
    assert (str(folder) in page.told) == (not opens)


def test_a_session_kept_elsewhere_is_opened_and_listed_from_then_on(
    make_page: Callable[..., Page], qtbot: QtBot, tmp_path: Path
) -> None:
    away = make_session(tmp_path / "usb", "stick")
    page = make_page().show()
    page.press(Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    take(page, away)
    qtbot.waitUntil(lambda: len(page.opened) == 1)
    page.window.shelf.refresh()
    qtbot.waitUntil(lambda: page.entries == ["stick"])


def test_the_window_comes_back_where_it_was(make_page: Callable[..., Page]) -> None:
    first = make_page().show(1276, 740)
    first.window.move(QPoint(30, 40))
    first.close()
    second = make_page()
    second.window.show()
    assert second.window.size() == QSize(1276, 740)

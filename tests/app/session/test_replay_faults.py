"""Jobs that can't read every answer: they learn from all or none, and labelling waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.session.controller import State
from core.config import Config, replaced
from core.events import AnswersReplayed, PreferenceAdded
from core.preferences.store import PreferenceStore
from core.session.session import Session
from core.types import Choice, Preference
from tests.app.fakes import ERRORS, FULL, Face, make_query, numbers, press_restart

CLOSED = "Training stops until every answer can be read."


class Damage:
    """Damage to one bit of the second answer's left segment, flipped on disk and flipped back."""

    def __init__(self, folder: Path, states: bytes) -> None:
        self._path = folder / "preferences" / "00000002.safetensors"
        self._at = self._path.read_bytes().index(states[:64])

    def flip(self) -> None:
        content = bytearray(self._path.read_bytes())
        content[self._at] ^= 1
        self._path.write_bytes(content)


@pytest.fixture
def damaged(qtbot: QtBot, tmp_path: Path) -> Iterator[tuple[Face, Damage]]:
    """A window over a session with three answers, of which the second is damaged, and the damage; `flip` repairs it."""
    session = Session.create(tmp_path / "session", replaced(Config(), teacher="human"))
    given = [make_query() for _ in range(3)]
    with closing(session.store()) as store:
        for query in given:
            store.add(query, Choice.LEFT, "human")
    damage = Damage(session.folder, given[1].left.observations.tobytes())
    damage.flip()
    face = Face(qtbot, session.folder, session)
    face.window.show()
    face.activate()
    with qtbot.waitSignal(face.controller.job_failed):
        face.controller.start()
    yield face, damage
    face.close()
    face.window.deleteLater()
    face.controller.deleteLater()


def read_by(face: Face, name: str) -> list[int]:
    return [event.preference.id for event in face.engine[name].got(PreferenceAdded)]


def test_a_session_with_a_damaged_answer_trains_only_after_its_repair(damaged: tuple[Face, Damage]) -> None:
    face, damage = damaged
    banner = face.window.banner
    face.wait_until(lambda: face.controller.job_group.running == ("clips",))
    for again in (False, True):
        if again:
            with face.wait_signal(face.controller.job_failed):
                press_restart(face)
            face.wait_until(lambda: face.controller.job_group.running == ("clips",))
        assert banner.text.text().endswith(CLOSED) and "00000002.safetensors is damaged" in banner.text.text()
        assert banner.shows_failure and banner.restart.text() == "Restart" and banner.quit.isVisible()
        assert face.controller.state == State.FAILED and not face.labelling.open
        assert read_by(face, "reward") == [1] and not face.engine["reward"].got(AnswersReplayed)
        assert face.controller.session.load() is None and face.controller.progress.labels == 3
    damage.flip()
    press_restart(face)
    for name in ("reward", "rollout"):
        face.wait_until(lambda name=name: len(face.engine[name].got(AnswersReplayed)) == 1)
        assert read_by(face, name) == [1, 2, 3]
    assert face.controller.state == State.RUNNING and not banner.isVisible()
    face.answer_another()


def test_a_session_with_a_damaged_answer_can_be_left(damaged: tuple[Face, Damage]) -> None:
    face, damage = damaged
    with face.wait_signal(face.window.closed):
        QTest.mouseClick(face.window.banner.quit, Qt.MouseButton.LeftButton)
    damage.flip()
    with closing(PreferenceStore(face.folder / "preferences")) as store:
        assert [preference.id for preference in store.each()] == [1, 2, 3]


def refuse(face: Face, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let reading the answers fail after the first one, once for the reward job."""
    each = PreferenceStore.each

    def failing(store: PreferenceStore) -> Iterator[Preference]:
        yield next(each(store))
        raise error

    with monkeypatch.context() as patch, face.wait_signal(face.controller.job_failed):
        patch.setattr(PreferenceStore, "each", failing)
        face.labelling.replay(("reward",))


@pytest.mark.parametrize("error", [ERRORS[0], FULL])
def test_labelling_waits_until_every_job_has_all_answers(
    face: Face, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    first, second, third = [make_query() for _ in range(3)]
    face.offer(first, second, third)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is second)
    before = face.engine["reward"]
    refuse(face, monkeypatch, error)
    text = face.window.banner.text.text()
    assert face.window.banner.shows_failure and text.endswith(CLOSED) and "\n" not in text
    assert face.query is None and not face.window.key_hints.buttons[Choice.LEFT].isEnabled()
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Backspace):
        face.press(key)
    assert [answer.query.id for answer in face.answers()] == [first.id]
    press_restart(face)
    face.wait_until(lambda: face.query is second)
    reward = face.engine["reward"]
    face.wait_until(lambda: len(reward.got(AnswersReplayed)) == 1)
    assert reward is not before and before.stopped and read_by(face, "reward") == [1]
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: face.query is third)
    assert [answer.query.id for answer in face.answers()] == [first.id, second.id]


def test_training_without_every_answer_is_not_saved(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    face.answer_another()
    checkpointer = face.controller.checkpointer
    with face.wait_signal(checkpointer.saved):
        checkpointer.request()
    with face.wait_signal(checkpointer.saved):
        refuse(face, monkeypatch, FULL)
    assert numbers(face) == {"rollout": 2, "reward": 1, "policy": 2}

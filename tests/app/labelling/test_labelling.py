"""Real keys in a shown window: the effect of each, and what is stored."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.events import AnswersReplayed, PreferenceAdded, QueryWithdrawn, Waited
from core.io.segment_codec import fingerprint, pair_of
from core.preferences.schedule import HOLDS
from core.service_events import ClipsRequested
from core.types import Choice, Teacher
from tests.app.fakes import KEYS, Face, make_query
from tests.app.tape import flashed, report


def test_each_key_stores_its_choice_shows_the_next_pair_and_reaches_the_jobs(face: Face) -> None:
    queries = face.offer(*[make_query() for _ in range(5)])
    assert face.query is queries[0]
    for (key, choice), following in zip(KEYS.items(), queries[1:], strict=True):
        face.press(key)
        face.wait_until(lambda choice=choice: flashed(face.window.clips) == choice)
        face.wait_until(lambda following=following: face.query is following)
    expected = [(query.id, choice, "human") for query, choice in zip(queries, KEYS.values(), strict=False)]
    assert [(a.query.id, a.choice, a.labeller) for a in face.answers()] == expected
    for name in ("reward", "rollout"):
        process = face.engine[name]
        face.wait_until(lambda process=process: len(process.got(PreferenceAdded)) == 4)
    assert not face.engine["policy"].got(PreferenceAdded)


def test_keys_work_with_the_focus_elsewhere_and_a_hint_can_be_clicked(face: Face) -> None:
    face.offer(make_query(), make_query())
    face.window.plots.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    face.window.plots.setFocus()
    QTest.keyClick(face.window.plots, Qt.Key.Key_Right)
    face.wait_until(lambda: len(face.answers()) == 1)
    face.wait_until(lambda: face.labelling.pairs.shown is not None)
    QTest.mouseClick(face.window.key_hints.buttons[Choice.TIE], Qt.MouseButton.LeftButton)
    face.wait_until(lambda: [a.choice for a in face.answers()] == [Choice.RIGHT, Choice.TIE])


def test_two_presses_at_once_are_one_answer(face: Face) -> None:
    first, second = face.offer(make_query(), make_query())
    face.press(Qt.Key.Key_Left)
    face.press(Qt.Key.Key_Right)  # before the first answer is on disk, so before the second pair is on screen
    face.wait_until(lambda: face.query is second)
    assert [a.choice for a in face.answers()] == [Choice.LEFT]


def test_undo_right_after_an_answer_withdraws_it(face: Face) -> None:
    first = make_query()
    face.offer(first, make_query())
    face.press(Qt.Key.Key_Left)
    face.press(Qt.Key.Key_Backspace)  # before the answer is on disk
    with face.wait_signal(face.labelling.answer_withdrawn):
        pass
    assert face.query is first
    assert face.answers() == []


def test_undo_after_a_restart_renders_the_pair_again(open_face: Callable[..., Face]) -> None:
    face = open_face()
    first = make_query()
    face.offer(first, make_query())
    face.press(Qt.Key.Key_Up)
    face.wait_until(lambda: len(face.answers()) == 1)
    face.close()
    again = open_face()
    face.wait_until(lambda: again.controller.progress.labels == 1)
    again.press(Qt.Key.Key_Backspace)
    face.wait_until(lambda: again.query is not None)
    assert again.query and again.query.id == first.id
    assert (again.query.left.states == first.left.states).all()
    assert len(again.engine["clips"].got(ClipsRequested)) == 1
    assert again.answers() == []


def test_a_restarted_rollout_receives_the_pair_on_screen(face: Face) -> None:
    shown = make_query()
    face.offer(shown, make_query())
    face.die("rollout")
    face.restart()
    face.wait_until(lambda: len(face.engine["rollout"].got(AnswersReplayed)) == 1)
    ((waiting,),) = [replayed.waiting for replayed in face.engine["rollout"].got(AnswersReplayed)]
    assert face.query is shown and waiting.id == shown.id
    assert waiting.pair == pair_of(fingerprint(shown.left), fingerprint(shown.right))


def test_a_withdrawn_query_is_asked_only_if_it_is_on_screen(face: Face) -> None:
    first, second, third = face.offer(make_query(), make_query(), make_query())
    for query in (first, second):
        face.engine["rollout"].play(QueryWithdrawn(query.id))
    face.engine["rollout"].play(report(1000))  # follows the withdrawals
    face.wait_until(lambda: face.controller.progress.env_steps == 1000)
    assert face.query is first
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is third)


def test_the_oracle_answers_by_itself(face: Face) -> None:
    face.labelling.oracle_timer.setInterval(20)
    face.offer(make_query(1.0, 0.0), make_query(0.0, 1.0), make_query(1.0, 1.0))
    face.window.teacher_actions[Teacher.ORACLE].trigger()
    face.wait_until(lambda: flashed(face.window.clips) == Choice.LEFT)
    face.wait_until(lambda: len(face.answers()) == 3)
    assert [a.choice for a in face.answers()] == [Choice.LEFT, Choice.RIGHT, Choice.TIE]
    assert {a.labeller for a in face.answers()} == {"oracle"}


def test_the_oracle_errs_as_configured_and_stops_at_the_target(open_face: Callable[..., Face]) -> None:
    face = open_face(labels=1, oracle__mistakes=1.0)
    face.labelling.set_teacher(Teacher.ORACLE)
    face.offer(make_query(1.0, 0.0), make_query())
    face.wait_until(lambda: [a.choice for a in face.answers()] == [Choice.RIGHT])
    assert not face.labelling.oracle_timer.isActive()


def test_the_oracle_stops_at_the_target_while_training_waits(open_face: Callable[..., Face]) -> None:
    face = open_face(labels=2, query__schedule="answers", query__first_labels=1)
    face.labelling.oracle_timer.setInterval(20)
    face.labelling.set_teacher(Teacher.ORACLE)
    face.offer(make_query(), make_query(), make_query())
    for count in (1, 2):
        face.wait_until(lambda count=count: len(face.answers()) == count)
        face.engine["rollout"].play(Waited("rollout", HOLDS))
        face.wait_until(lambda: face.controller.course.holding)
    assert not face.labelling.oracle_timer.isActive()


def test_changing_an_answer_to_cant_tell_delays_the_start_of_training(open_face: Callable[..., Face]) -> None:
    face = open_face(labels=10, query__first_labels=2)
    progress = face.controller.progress
    face.answered()
    assert progress.labels_to_start == 1
    face.press(Qt.Key.Key_Down)
    face.wait_until(lambda: progress.labels == 2)
    assert progress.labels_to_start == 1
    face.labelling.preference_writer.change(face.answers()[0].id, Choice.CANT_TELL, "human")
    face.wait_until(lambda: progress.labels_to_start == 2)
    assert progress.labels == 2


def test_the_oracle_keeps_to_the_schedule(open_face: Callable[..., Face]) -> None:
    face = open_face(labels=10, query__first_labels=1, query__half_life=1e5, query__horizon=200_000)
    face.labelling.oracle_timer.setInterval(20)
    face.labelling.set_teacher(Teacher.ORACLE)
    face.offer(make_query(), make_query(), make_query())
    for count, env_steps in ((1, 20_000), (2, 20_001)):
        face.wait_until(lambda count=count: len(face.answers()) == count)
        assert not face.labelling.oracle_timer.isActive()
        face.engine["rollout"].play(report(env_steps))
    face.wait_until(lambda: face.controller.progress.env_steps == 20_001)
    assert not face.labelling.oracle_timer.isActive()


def test_the_person_can_take_over_from_the_oracle(face: Face) -> None:
    face.labelling.set_teacher(Teacher.ORACLE)
    face.offer(make_query(1.0, 0.0), make_query())
    with face.wait_signal(face.labelling.answer_kept):
        pass
    face.press(Qt.Key.Key_Backspace)
    face.wait_until(lambda: face.labelling.teacher == Teacher.HUMAN)
    assert face.window.teacher_actions[Teacher.HUMAN].isChecked()
    face.wait_until(lambda: face.answers() == [])

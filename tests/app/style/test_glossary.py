"""The glossary, which opens at the entry for the focused control."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

from app.style.glossary import Glossary, word_of
from core.types import Choice
from tests.app.fakes import Face


def opened(face: Face) -> Glossary:
    found = face.window.findChild(Glossary)
    face.wait_until(found.isVisible)
    return found


def test_a_question_mark_opens_the_glossary_at_the_entry_of_the_focused_plot(face: Face) -> None:
    for group, key, word in (
        (0, "return", "return"),
        (1, "ratio", "validation/training loss"),
        (2, "speed", "steps per second"),
    ):
        face.window.plots.setCurrentIndex(group)
        face.window.plots.all_plots()[key].setFocus()
        QTest.keySequence(face.window, QKeySequence("?"))
        glossary = opened(face)
        assert glossary.text.textCursor().selectedText() == word
        glossary.close()
        face.wait_until(lambda: face.window.findChild(Glossary) is None)
        face.window.activateWindow()


def test_the_glossary_has_entries_for_the_answering_controls(face: Face) -> None:
    window = face.window
    focused = window.clips.left, window.key_hints.buttons[Choice.LEFT], window.training_line.finish
    assert [word_of(widget) for widget in focused] == ["clip", "choice", "finish"]


def test_each_question_mark_beside_a_figure_opens_an_existing_entry(face: Face) -> None:
    plots = face.window.plots.all_plots()
    marks = [button for button in face.window.findChildren(QToolButton) if button.objectName() == "help"]
    assert len(marks) >= len(plots) + 2
    words = set()
    assert "How wrong the reward model is about your answers" in "".join(mark.toolTip() for mark in marks)
    for mark in marks:
        assert len(mark.toolTip()) > 60  # contains the definition
        mark.click()
        glossary = opened(face)
        words.add(glossary.text.textCursor().selectedText())
        QTest.keyClick(glossary, Qt.Key.Key_Escape)
        face.wait_until(lambda: face.window.findChild(Glossary) is None)
    assert "" not in words and {"answers given", "newest policy", "loss", "correlation"} <= words


def test_every_caption_below_the_clips_has_an_entry(face: Face) -> None:
    face.window.commands["glossary"].trigger()
    words = opened(face).words
    captions = [
        caption.text() for caption in face.window.status_strip.findChildren(type(face.window.instruction), "caption")
    ]
    named = [caption.lower() for caption in captions if caption and "best" not in caption]
    assert len(named) >= 4 and set(named) <= set(words)

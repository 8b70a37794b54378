"""Texts of files, folders and errors: shown verbatim, never interpreted as HTML."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from app.crash import crash_dialog
from app.style.labels import label, tip
from tests.app.fakes import Face
from tests.app.start_page_driver import Page, make_session

NASTY = "<img src=x><b>bold</b> & more"
OUR_OWN = {"readout", "plotKey", "rewardLegend"}
"""The styles of the labels that may show HTML: the plots' legends and readings, made of our own words and colours."""


def guessing(labels: list[QLabel]) -> set[str]:
    """Return the texts of the labels that interpret text as HTML if it looks like HTML."""
    careless = (made for made in labels if made.textFormat() != Qt.TextFormat.PlainText)
    return {made.text() for made in careless if made.objectName() not in OUR_OWN}


def test_only_constant_labels_let_qt_guess_their_text_format(face: Face, page: Page) -> None:
    crash = crash_dialog(NASTY, "the log")
    face.qtbot.addWidget(crash)
    assert guessing(face.window.findChildren(QLabel)) == {"Teacher", "Making the film"}
    assert guessing(page.show().window.findChildren(QLabel)) == set()
    assert crash.textFormat() == Qt.TextFormat.PlainText
    assert label("told", NASTY).textFormat() == Qt.TextFormat.PlainText


def test_tooltips_escape_what_they_show(page: Page) -> None:
    assert tip(NASTY) == "<p>&lt;img src=x&gt;&lt;b&gt;bold&lt;/b&gt; &amp; more</p>" and tip("") == ""
    folder = make_session(page.root, "<b>bold")
    (folder / "config.json").write_text(NASTY)
    page.show()
    shown = page.rows.session_model.data(page.rows.session_model.index(0), Qt.ItemDataRole.ToolTipRole)
    assert "<b>" not in shown and "&lt;b&gt;bold" in shown
    card = next(iter(page.window.grid.cards.values()))
    card.set_error(NASTY)
    assert "<img" not in card.toolTip() and "&lt;img src=x&gt;" in card.toolTip()

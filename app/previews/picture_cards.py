"""Cards with moving pictures, and the widget that holds them; base classes for the cards of tasks and robots."""

from collections.abc import Mapping

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.previews.moving_picture import MovingPicture, PreviewClock
from app.previews.previews import Preview

ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)


class PictureCard(QAbstractButton):
    """A button with a moving picture. Arrow keys are left to the widget that holds the cards."""

    def __init__(self, title: str, picture: MovingPicture, place: QRect, parent: QWidget | None = None) -> None:
        """picture: its words are shown while it is loading; place: rectangle of the picture on the card"""
        super().__init__(parent)
        self.picture, self.picture_rect, self._loading = picture, place, picture.words
        self.setAccessibleName(title)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_preview(self, preview: Preview | None) -> None:
        """Show a preview; None while it is loading."""
        self.picture.show(preview, self._loading)
        self.update()

    def set_error(self, sentence: str) -> None:
        """Show the reason why there is no preview."""
        self.picture.show(None, sentence, trouble=True)
        self.update()

    def show_frame(self, frame: int) -> None:
        """Show this frame of the preview; does nothing while the card is not visible."""
        self.picture.move_to(frame)
        if self.picture.preview is not None and not self.visibleRegion().isEmpty():
            self.update(self.picture_rect)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore() if event.key() in ARROWS else super().keyPressEvent(event)


class PictureCards(QWidget):
    """Holds cards by name, whose pictures move while it is visible."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.clock = PreviewClock(self, self._show_frame)

    @property
    def cards(self) -> Mapping[str, PictureCard]:
        raise NotImplementedError

    def missing(self) -> list[str]:
        """Return the names without a preview, except those that can't be rendered."""
        pictures = {name: card.picture for name, card in self.cards.items()}
        return [name for name, picture in pictures.items() if picture.preview is None and not picture.trouble]

    def set_preview(self, name: str, preview: Preview) -> None:
        if card := self.cards.get(name):
            card.set_preview(preview)

    def set_error(self, name: str, sentence: str) -> None:
        if card := self.cards.get(name):
            card.set_error(sentence)

    def free_previews(self) -> None:
        """Free the memory of the previews; request those in `missing` before showing the cards again."""
        for card in self.cards.values():
            if card.picture.preview is not None:
                card.set_preview(None)

    def _show_frame(self, frame: int) -> None:
        for card in self.cards.values():
            card.show_frame(frame)

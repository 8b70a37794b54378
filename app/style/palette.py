"""The dark and the light palette."""

from dataclasses import dataclass

from core.types import Choice


@dataclass(frozen=True)
class Palette:
    """All colours of the windows as #rrggbb; text is drawn on the first three and the last three.

    handle: of scroll bars, and grooves of sliders
    """

    dark: bool
    background: str
    panel: str
    line: str
    text: str
    muted: str
    disabled: str
    handle: str
    green: str
    amber: str
    grey: str
    blue: str
    red: str
    purple: str
    teal: str
    checked: str
    failure: str
    notice: str

    @property
    def members(self) -> tuple[str, ...]:
        """Colours of ensemble members; further members start over."""
        return (self.blue, self.amber, self.green, self.purple, self.red, self.teal)

    @property
    def choice_colours(self) -> dict[Choice, str]:
        return {Choice.LEFT: self.green, Choice.RIGHT: self.green, Choice.TIE: self.amber, Choice.CANT_TELL: self.grey}

    def named(self) -> dict[str, str]:
        """Colours by the names that resources/style.qss uses."""
        return {name.upper(): value for name, value in vars(self).items() if isinstance(value, str)}


_COLOURS = {
    "background": ("#14171c", "#f3f4f6"),
    "panel": ("#1c2128", "#ffffff"),
    "line": ("#303843", "#d5dae1"),
    "text": ("#eceff4", "#1b1f24"),
    "muted": ("#a7b1be", "#4b535d"),
    "disabled": ("#8b95a3", "#656d79"),
    "handle": ("#434d5b", "#b0b8c4"),
    "green": ("#4cc38a", "#157347"),
    "amber": ("#f0b64a", "#8f5b00"),
    "grey": ("#9aa5b4", "#5b6472"),
    "blue": ("#66b3ff", "#0b62b8"),
    "red": ("#ff7b72", "#b3261e"),
    "purple": ("#c792ea", "#7b3fb5"),
    "teal": ("#5ad1cd", "#0b6e73"),
    "checked": ("#24405c", "#cfe4fa"),
    "failure": ("#3a2325", "#fbe3e4"),
    "notice": ("#33291a", "#fdf1d8"),
}
"""Each colour on a dark and on a light background."""
DARK = Palette(dark=True, **{name: dark for name, (dark, _) in _COLOURS.items()})
LIGHT = Palette(dark=False, **{name: light for name, (_, light) in _COLOURS.items()})

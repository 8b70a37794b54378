"""The dark and the light palette."""

from __future__ import annotations

from dataclasses import dataclass

from core.types import Choice


@dataclass(frozen=True)
class Palette:
    """All colours of the windows as #rrggbb; text is drawn on the first three and the last three."""

    dark: bool
    background: str
    panel: str
    line: str
    text: str
    muted: str
    disabled: str
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


DARK = Palette(
    dark=True,
    background="#14171c",
    panel="#1c2128",
    line="#303843",
    text="#eceff4",
    muted="#a7b1be",
    disabled="#8b95a3",
    green="#4cc38a",
    amber="#f0b64a",
    grey="#9aa5b4",
    blue="#66b3ff",
    red="#ff7b72",
    purple="#c792ea",
    teal="#5ad1cd",
    checked="#24405c",
    failure="#3a2325",
    notice="#33291a",
)
LIGHT = Palette(
    dark=False,
    background="#f3f4f6",
    panel="#ffffff",
    line="#d5dae1",
    text="#1b1f24",
    muted="#4b535d",
    disabled="#656d79",
    green="#157347",
    amber="#8f5b00",
    grey="#5b6472",
    blue="#0b62b8",
    red="#b3261e",
    purple="#7b3fb5",
    teal="#0b6e73",
    checked="#cfe4fa",
    failure="#fbe3e4",
    notice="#fdf1d8",
)

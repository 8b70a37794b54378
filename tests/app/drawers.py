"""Stand-ins for the process that draws the tasks."""

from __future__ import annotations

import numpy as np

from core.events import Event, PreviewDrawn, PreviewRefused, PreviewRequested
from core.system.child_process import JobSpec
from core.types import Frames
from tests.app.fakes import FakeProcess


def make_preview(side: int = 48, count: int = 6) -> Frames:
    pixels = np.full((count, side, side, 3), 60, np.uint8)
    for number in range(count):
        pixels[number, :, number * side // count : (number + 1) * side // count] = (40, 160, 120)
    return Frames(pixels, 12.0)


class Drawer(FakeProcess):
    """Draws every task at once, but refuses those of `refused`, dies at the `deadly` and never draws the `ignored`."""

    refused: dict[str, str] = {}
    deadly: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def send(self, event: Event) -> None:
        super().send(event)
        if not isinstance(event, PreviewRequested) or event.task in self.ignored:
            return
        if event.task in self.deadly:
            self.die()
        elif event.task in self.refused:
            self.play(PreviewRefused(event.task, self.refused[event.task]))
        else:
            self.play(PreviewDrawn(event.task, make_preview()))


class Drawers:
    """Makes them, all with the same whims, and remembers them."""

    def __init__(self, **whims: object) -> None:
        self.whims = whims
        self.made: list[Drawer] = []

    def __call__(self, spec: JobSpec) -> Drawer:
        drawer = Drawer(spec)
        vars(drawer).update(self.whims)
        self.made.append(drawer)
        return drawer

    @property
    def asked(self) -> list[str]:
        return [event.task for drawer in self.made for event in drawer.got(PreviewRequested)]

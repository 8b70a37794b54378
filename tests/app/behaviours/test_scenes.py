"""Pictures for the page of behaviours, drawn by a child process that may be slow or die."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.behaviours.scenes import Scenes
from core.service_events import SceneDrawn, SceneRefused, SceneRequested
from tests.app.fakes import Engine, make_frames

SIZE = 400


@pytest.fixture
def scenes(engine: Engine) -> Iterator[Scenes]:
    made = Scenes(engine)
    yield made
    made.close()


def asked(engine: Engine) -> list[tuple[str, int | None]]:
    return [(event.behaviour, event.still) for process in engine.made for event in process.got(SceneRequested)]


def test_only_the_newest_request_waits_while_a_still_is_drawn(scenes: Scenes, engine: Engine, qtbot: QtBot) -> None:
    for number in range(4):
        scenes.request(f"view {number}", SIZE, 5)
    assert asked(engine) == [("view 0", 5)]
    with qtbot.waitSignal(scenes.still_drawn):
        engine["scenes"].play(SceneDrawn(1, make_frames(count=1)))
    assert asked(engine)[1:] == [("view 3", 5)]
    scenes.request("all", SIZE)
    with qtbot.waitSignal(scenes.still_drawn):
        engine["scenes"].play(SceneDrawn(4, make_frames(count=1)))
    assert asked(engine)[2:] == [("all", None)]
    scenes.request("all, changed", SIZE)  # at once: the child drops the older one
    assert asked(engine)[3:] == [("all, changed", None)]
    with qtbot.waitSignal(scenes.drawn) as drawn:
        engine["scenes"].play(SceneDrawn(5, make_frames(count=2)))
        engine["scenes"].play(SceneDrawn(6, make_frames(count=3)))
    assert len(drawn.args[0].pixels) == 3


def test_a_refusal_and_a_death_are_reported_and_the_next_request_has_a_new_child(
    scenes: Scenes, engine: Engine, qtbot: QtBot
) -> None:
    scenes.request("a stone", SIZE)
    with qtbot.waitSignal(scenes.refused) as refused:
        engine["scenes"].play(SceneRefused(1, "It has no actuators."))
    assert refused.args == ["It has no actuators."]
    scenes.request("deadly", SIZE)
    with qtbot.waitSignal(scenes.refused) as refused:
        engine["scenes"].die()
    assert refused.args == ["The robot can't be rendered: the rendering process ended unexpectedly."]
    scenes.request("harmless", SIZE)
    assert len(engine.made) == 2
    scenes.rest()
    scenes.request("when it is ending", SIZE)
    qtbot.waitUntil(lambda: asked(engine)[-1] == ("when it is ending", None) and len(engine.made) == 3)

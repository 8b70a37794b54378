"""Examples of every event that a child may send to the window."""

from __future__ import annotations

import numpy as np

from core.events import (
    AnswersPredicted,
    DemonstrationRecorded,
    Event,
    Failed,
    JobState,
    PolicyPublished,
    QueryOffered,
    RewardFitted,
    RewardPublished,
    RolloutBatchReady,
    StateSaved,
    Waited,
)
from core.service_events import (
    ClipsRendered,
    FilmMade,
    FilmProgressed,
    GameShown,
    PreviewDrawn,
    PreviewRefused,
    ReplayRefused,
    ReplayRendered,
)
from tests.app.fakes import make_frames, make_query, make_segment
from tests.app.tape import report

EMPTY = np.zeros((0,), np.float32)
FILM = (FilmProgressed(0.5), FilmMade("x.mp4", ""), Waited("film", "no request"))
PREVIEWS = (PreviewDrawn("a", make_frames()), PreviewRefused("a", "it can't be drawn"), Waited("previews", "no task"))
PLAY = (GameShown(np.zeros((210, 160, 3), np.uint8), 7, 3),)


def events() -> list[tuple[str, Event]]:
    """Return one example of each event that the child of a job may send, with the job."""
    query = make_query()
    return [
        ("rollout", Waited("rollout", "it waits")),
        ("rollout", QueryOffered(query)),
        ("rollout", RolloutBatchReady(0, 0, *[EMPTY] * 4, np.zeros(0, np.bool_), EMPTY, EMPTY)),
        ("rollout", report(1000)),
        ("rollout", DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), 4321)),
        ("reward", RewardFitted(3, (0.5,), (0.6,), (1e-4,))),
        ("reward", RewardPublished({})),
        ("policy", PolicyPublished(1, {})),
        ("reward", AnswersPredicted(10**9, 1, np.zeros(0, np.int64), EMPTY)),
        ("clips", ClipsRendered(10**9, (make_frames(), make_frames()))),
        ("clips", ReplayRendered(10**9, make_frames(), EMPTY, {})),
        ("clips", ReplayRefused(10**9, "it can't be shown")),
        ("policy", StateSaved("policy", 10**9, JobState({}, {}))),
        ("policy", Failed("policy", "it has failed by itself", "the trace")),
    ]

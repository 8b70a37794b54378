"""TODO-DOC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from core.events import (
    AnswersReplayed,
    ClipsRequested,
    Event,
    JobState,
    JudgementRequested,
    PolicyPublished,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    ReplayRequested,
    RewardPublished,
    RolloutBatchReady,
)
from core.io.segment_codec import fingerprint, pair_of
from core.types import Query, Segment

JOBS = ("rollout", "reward", "policy")

REWARD = "reward_"
"""What the names of its reward snapshot's weights begin with in the rollout's state."""

_NOTHING = np.zeros((0, 0), np.float32)

_NO_SEGMENT = Segment(0, _NOTHING, _NOTHING, _NOTHING, None, 0)

ROUTES: dict[type[Event], tuple[str, ...]] = {
    RolloutBatchReady: ("policy",),
    PolicyPublished: ("rollout", "reward", "snapshots"),
    RewardPublished: ("rollout", "clips"),
    PreferenceAdded: ("reward", "rollout"),
    PreferenceChanged: ("reward", "rollout"),
    PreferenceWithdrawn: ("reward", "rollout"),
    AnswersReplayed: ("reward", "rollout"),
    ClipsRequested: ("clips",),
    JudgementRequested: ("reward",),
    ReplayRequested: ("clips",),
}
"""Which jobs hear of which event; 'snapshots' is who keeps them. The labeller, human or oracle, is the caller's."""


class Port(Protocol):
    """Where a job takes its events in: the job itself, or its child process."""

    def send(self, event: Event) -> None: ...


def deliver(event: Event, ports: Mapping[str, Port]) -> None:
    """Hands the event to the jobs that it concerns, as far as they run here.

    No job hears of an answer that only repeats another: the first one is the label, and twice it would weigh double.
    The rollout only counts answers, and is sent none of their segments but what tells the pairs from others.
    """
    if isinstance(event, PreferenceAdded) and event.preference.query.repeats is not None:
        return
    for name in ROUTES.get(type(event), ()):
        if name in ports:
            ports[name].send(_counted(event) if name == "rollout" else event)


def _counted(event: Event) -> Event:
    """Of an answer, or of a pair that waits for one, what is left without its segments."""
    if isinstance(event, AnswersReplayed):
        return replace(event, waiting=tuple(map(_told_apart, event.waiting)))
    if not isinstance(event, PreferenceAdded | PreferenceChanged):
        return event
    return replace(event, preference=replace(event.preference, query=_told_apart(event.preference.query)))


def _told_apart(query: Query) -> Query:
    pair = pair_of(fingerprint(query.left), fingerprint(query.right))
    return replace(query, left=_NO_SEGMENT, right=_NO_SEGMENT, pair=pair)


def kept_reward(states: Mapping[str, JobState]) -> RewardPublished | None:
    """The reward snapshot that the rollout had at a checkpoint, for who joins later than the last was published."""
    weights = states["rollout"].under(REWARD) if "rollout" in states else {}
    return RewardPublished(0, weights) if weights else None

"""Routing: one table of the events and their receivers. It closes the loop from the policy back to the rollout."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from core.events import (
    AnswersReplayed,
    Event,
    FinishRequested,
    HoldChanged,
    PolicyPublished,
    PredictionsRequested,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    RewardPublished,
    RewardRequested,
    RolloutBatchReady,
)
from core.io.segment_codec import fingerprint, pair_of
from core.service_events import ClipsRequested, ReplayRequested
from core.types import Query, Segment

JOBS = ("rollout", "reward", "policy")
"""The jobs of every run; a window runs "clips" as well."""
SNAPSHOTS = "snapshots"
"""Receiver that saves earlier policies of the session."""
DRIVER = "driver"
"""Receiver that runs the session: the window or the headless run. It answers queries, shows figures and saves checkpoints."""

ROUTES: dict[type[Event], tuple[str, ...]] = {
    RolloutBatchReady: ("policy",),
    PolicyPublished: ("rollout", "reward", SNAPSHOTS),
    RewardPublished: ("rollout", "policy", "clips"),
    PreferenceAdded: ("reward", "rollout"),
    PreferenceChanged: ("reward", "rollout"),
    PreferenceWithdrawn: ("reward", "rollout"),
    AnswersReplayed: ("reward", "rollout"),
    ClipsRequested: ("clips",),
    ReplayRequested: ("clips",),
    PredictionsRequested: ("reward",),
    RewardRequested: ("reward",),
    HoldChanged: ("rollout",),
    FinishRequested: ("rollout",),
}
"""The receivers of each event: jobs or SNAPSHOTS. All other events go to DRIVER, which never receives batches or weights."""

_NOTHING = np.zeros((0, 0), np.float32)
_NO_SEGMENT = Segment(0, _NOTHING, _NOTHING, _NOTHING, None, 0)


class Port(Protocol):
    """A receiver of events: a job, its child process, or another part of the session."""

    def send(self, event: Event) -> None: ...


def receivers(kind: type[Event]) -> tuple[str, ...]:
    """Return the names of the receivers of this class of events."""
    return ROUTES.get(kind, (DRIVER,))


def deliver(event: Event, ports: Mapping[str, Port]) -> None:
    """Send an event to those of its receivers that have a port.

    An answer that repeats another one is not delivered: only the first is a label, so that no pair has double weight. The
    rollout receives answers and waiting queries without their segments, since it only counts and compares them.
    """
    if isinstance(event, PreferenceAdded) and event.preference.query.repeats is not None:
        return
    for name in receivers(type(event)):
        if name in ports:
            ports[name].send(_without_segments(event) if name == "rollout" else event)


def _without_segments(event: Event) -> Event:
    if isinstance(event, AnswersReplayed):
        waiting, undone = (tuple(map(_pair_only, queries)) for queries in (event.waiting, event.undone))
        return AnswersReplayed(waiting, undone)
    if not isinstance(event, PreferenceAdded | PreferenceChanged):
        return event
    return replace(event, preference=replace(event.preference, query=_pair_only(event.preference.query)))


def _pair_only(query: Query) -> Query:
    """Return the query with the fingerprint of its pair in place of the segments."""
    pair = pair_of(fingerprint(query.left), fingerprint(query.right))
    return replace(query, left=_NO_SEGMENT, right=_NO_SEGMENT, pair=pair)

"""The clips job: draws segments when asked, and policies of the past in action."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from core.config import Config
from core.envs.renderer import renderer_for
from core.errors import UserError
from core.events import (
    ClipsRendered,
    ClipsRequested,
    Event,
    JobState,
    ReplayRefused,
    ReplayRendered,
    ReplayRequested,
    RewardPublished,
    Waited,
)
from core.nn.stacked_mlp import CPU
from core.nn.state import load_state_arrays
from core.reward.ensemble import RewardEnsemble, build_ensemble
from core.reward.image_ensemble import ImageEnsemble
from core.rollout.actor import Actor
from core.rollout.episodes import DemonstrationEpisode, demonstrate, predicted_reward
from core.seeding import generator
from core.session.restore_errors import weight_errors
from core.tasks import get_task


class ClipsJob:
    """Answers each ClipsRequested with its ClipsRendered, in order; then the newest ReplayRequested.

    Somebody waits for a pair, and of the policies that a slider passed over only the last is wanted. What acts here
    has random streams of its own, and starts the same whichever policy it is: training takes no notice.
    """

    def __init__(self, config: Config) -> None:
        self._config, self._task = config, get_task(config.task)
        self._renderer = renderer_for(self._task)
        self._requests: deque[ClipsRequested] = deque()
        self._replay: ReplayRequested | None = None
        self._reward: RewardPublished | None = None

    def receive(self, event: Event) -> None:
        match event:
            case ClipsRequested():
                self._requests.append(event)
            case ReplayRequested():
                self._replay = event
            case RewardPublished():
                self._reward = event

    def run(self) -> Iterator[Event | None]:
        while True:
            if self._requests:
                yield from self._draw(self._requests.popleft())
            elif self._replay:
                request, self._replay = self._replay, None
                try:
                    yield from self._act(request)
                except UserError as error:  # an earlier policy is no reason to stop drawing pairs
                    yield ReplayRefused(request.token, str(error))
            else:
                yield Waited("clips", "no clips to draw")

    def _draw(self, request: ClipsRequested) -> Iterator[Event | None]:
        clips = []
        for segment in request.segments:
            clips.append(self._renderer.render(segment.states, request.size, request.fps))
            yield None
        yield ClipsRendered(request.token, tuple(clips))

    def _act(self, request: ReplayRequested) -> Iterator[Event | None]:
        actor = Actor(self._config, None)
        with weight_errors():
            actor.load(request.weights)
        acted: DemonstrationEpisode | None = None
        for acted in demonstrate(self._task, actor, generator(self._config.seed, "replays")):
            if acted is None:
                yield None
        if acted is None:
            raise UserError("The simulation failed under this policy: look at another one.")
        predicted = predicted_reward(self._ensemble(), acted.segment)
        clip = self._renderer.render(acted.segment.states, request.size, request.fps)
        yield ReplayRendered(request.token, clip, predicted, acted.measure)

    def _ensemble(self) -> RewardEnsemble | ImageEnsemble | None:
        if self._reward is None:
            return None
        ensemble = build_ensemble(self._config, CPU)
        load_state_arrays(ensemble, self._reward.weights)
        return ensemble

    def get_state(self) -> JobState:
        return JobState({}, {})

    def set_state(self, state: JobState) -> None:
        """Nothing outlives a drawing."""

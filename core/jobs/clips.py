"""The clips job: renders segments, and episodes of earlier policies, on request."""

from collections import deque
from collections.abc import Iterator

from core.config import Config
from core.envs.renderer import renderer_for
from core.errors import UserError, weight_errors
from core.events import Event, Job, RewardPublished, Waited
from core.nn.stacked_mlp import CPU
from core.nn.state import load_state_arrays
from core.reward.ensemble import build_ensemble
from core.rollout.actor import Actor
from core.rollout.episodes import demonstrate, predicted_reward
from core.seeding import generator
from core.service_events import ClipsRendered, ClipsRequested, ReplayRefused, ReplayRendered, ReplayRequested
from core.tasks import get_task


class ClipsJob(Job):
    """Answers each ClipsRequested with a ClipsRendered, in order, and then the newest ReplayRequested.

    Clips come first because the user waits for them; of several replays requested by a moving slider, only the last is
    rendered. Replays have a random stream of their own, so training is not affected, and every policy starts the same way.
    """

    def __init__(self, config: Config) -> None:
        self._config, self._task = config, get_task(config.task, config.true_reward)
        self._renderer = renderer_for(self._task)
        self._requests: deque[ClipsRequested] = deque()
        self._replay: ReplayRequested | None = None
        self._actor: Actor | None = None
        self._reward: RewardPublished | None = None

    def receive(self, event: Event) -> None:
        match event:
            case ClipsRequested():
                (self._requests.appendleft if event.first else self._requests.append)(event)
            case ReplayRequested():
                self._replay = event
            case RewardPublished():
                self._reward = event

    def run(self) -> Iterator[Event | None]:
        while True:
            if self._requests:
                yield from self._render(self._requests.popleft())
            elif self._replay:
                request, self._replay = self._replay, None
                try:
                    yield from self._replay_episode(request)
                except UserError as error:  # clips must still be rendered
                    yield ReplayRefused(request.token, str(error))
            else:
                yield Waited("clips", "no clips to draw")

    def _render(self, request: ClipsRequested) -> Iterator[Event | None]:
        clips = []
        for segment in request.segments:
            clips.append(self._renderer.clip(segment.states, request.size, request.fps))
            yield None
        yield ClipsRendered(request.token, tuple(clips))

    def _replay_episode(self, request: ReplayRequested) -> Iterator[Event | None]:
        actor = self._actor = self._actor or Actor(self._config, None)
        with weight_errors():
            actor.load(request.weights)
        episode = yield from demonstrate(self._task, actor, generator(self._config.seed, "replays"))
        if episode is None:
            raise UserError("The simulation diverged with this policy: choose another one.")
        ensemble = None
        if self._reward is not None:
            ensemble = build_ensemble(self._config, CPU)
            load_state_arrays(ensemble, self._reward.weights)
        predicted = predicted_reward(ensemble, episode.segment)
        clip = self._renderer.clip(episode.segment.states, request.size, request.fps)
        yield ReplayRendered(request.token, clip, predicted, episode.measure, episode.signals)

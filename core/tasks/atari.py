"""The seven Atari games of figure 3, and Enduro in even mode, the third of the behaviours in 3.2.

A step is four frames of a console that shows 60 a second, so clips play at 15 fps and 25 steps last 1.7 s (A.2).

The paper contradicts itself about lost lives: by A nothing tells the agent of a life or a game that has ended, by A.2 a
lost life ends an episode. Here both hold, each for whom it is meant: policy and predictor see one episode without end,
while for the oracle an episode ends with a life and with a game, and each such end costs it `penalty`, except in Pong
(A). The paper doesn't say how much: here as much as the best step brings, and in Breakout less. As in A.2 rewards are
clipped to -1 and 1, so the oracle counts what was scored, not how much it was worth; games are reported by their own
score, unclipped.
Learning from the true reward (`--teacher none`) is learning from just what the oracle judges by, penalty and all, so
that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from core.tasks.base import Task
from core.types import Float64

FRAME_SKIP = 4
FRAMES_A_SECOND = 60
STACK, SIDE = 4, 84
"""What the networks see: so many pictures of so many pixels square (A.2)."""
PIXELS = STACK * SIDE * SIDE
NO_OPS = 30
"""At most so many frames of a new game pass before the first action (A.2)."""
GAME_STEPS = 18_000 // FRAME_SKIP
"""A game ends after five minutes, as where Mnih et al. (2015) evaluate; without an end it could be played for ever."""
_TRAFFIC = 24
"""Enduro: the speed of all other cars, in the unit of the console's memory."""
_SPEED = 22
"""Enduro: where in the console's memory the player's speed is, from 6 to 120 once it has moved."""
_SLOWEST = 6


@dataclass(frozen=True)
class GameInfo:
    """One step of N games, as reward and measure see it.

    points (N,) scored; lost (N,) bool: a life or the game was; memory (N, 128) the console's, (N, 0) where the task
    does not need it
    """

    points: npt.NDArray[np.int64]
    lost: npt.NDArray[np.bool_]
    memory: npt.NDArray[np.uint8]


Figure = Callable[[GameInfo], Float64]
"""Of each game, (N,)."""


@dataclass(frozen=True)
class Box:
    """Rows and columns of the screen (210 x 160), from the first to before the last."""

    top: int
    bottom: int
    left: int
    right: int


def points(moment: GameInfo) -> Float64:
    return moment.points.astype(np.float64)


def clipped_points(moment: GameInfo) -> Float64:
    """At most 1 a step, whatever was scored (A.2)."""
    return np.clip(points(moment), -1, 1)


def pace(moment: GameInfo) -> Float64:
    """From 1 at the traffic's speed down to 0 at walking speed, or as much too fast.

    It judges by the speed alone. Counting cars would not do: at first, when no car has been passed yet, the game takes
    no notice of those that pass the player, and so it would be enough to stand still.
    """
    return np.clip(1 - _off_pace(moment) / (_TRAFFIC - _SLOWEST), 0, 1)


def level(moment: GameInfo) -> Float64:
    """At this speed a car in sight moves by less than its length in a second."""
    return (_off_pace(moment) <= 2).astype(np.float64)


def _off_pace(moment: GameInfo) -> Float64:
    return np.abs(moment.memory[:, _SPEED].astype(np.float64) - _TRAFFIC)


@dataclass(frozen=True, kw_only=True)
class AtariTask(Task):
    """A game of the Arcade Learning Environment, with the wrappers of A.2."""

    game: str
    """As ale-py calls it."""
    controls: str
    """What each key does for a person who plays it: the arrows, Space; the others do nothing."""
    turned: bool = False
    """Whether what the joystick calls right is up on the screen, and left is down."""
    blanked: tuple[Box, ...]
    """What tells the score: black in all pictures, those for the networks and those for the person (A.2)."""
    penalty: float = 1.0
    """What the end of a life or a game takes off the true reward."""
    reward: Figure = clipped_points
    """The true reward, without the penalty."""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """Of the measure, besides the score: name -> its value in one step, of which the game's mean is reported."""
    counted: Figure = points
    """What a game's true return is the sum of: what it is judged by, unclipped and without the penalty."""
    needs_memory: bool = False
    """Whether reward or figures read the console's memory."""

    segment_steps: int = 25
    episode_steps: int = 300
    """Of the live view, 20 s. Games themselves end when they end, and the learner knows of no end at all."""
    measure_name: str = "score_per_game"
    measure_title: str = "Score of a game"
    measure_tells_reward: bool = True
    pictures: tuple[int, int, int] | None = (STACK, SIDE, SIDE)
    paper_presets: Mapping[str, Any] = field(
        default_factory=lambda: {
            "reward.dropout": 0.5,
            "reward.epochs_first": 200,
            "reward.steps_per_label": 10,
            "query.first_share": 0.25,
            "query.first_labels": 500,
        }
    )
    """A.2; on two cores they take hours (PRESETS says why)."""

    @property
    def step_seconds(self) -> float:
        return FRAME_SKIP / FRAMES_A_SECOND

    @property
    def has_true_reward(self) -> bool:
        return True

    @property
    def longest_episode(self) -> int:
        return GAME_STEPS


PRESETS: dict[str, Any] = {
    "labels": 3300,
    "steps": 5_000_000,
    "reward.std": 0.05,  # A.2, like the next
    "reward.max_labels": 3000,
    # A.2 has 200 epochs and dropout .5, with which a fit takes three times as long to come as far; here it holds back
    # whoever waits for the policy to move, so overfitting is left to the weight decay and its hold-outs.
    "reward.dropout": 0.0,
    "reward.epochs_first": 30,
    "reward.epochs": 1,
    "reward.steps_per_label": 20,  # A.2 has 10, on a machine of 16 cores and a GPU; so it is half of the work on 2 cores
    "reward.minibatch": 8,
    "query.first_share": 0.15,  # A.2's 500 of 3,300; a share, or with fewer labels none would follow the policy
    "query.half_life": 1.25e6,  # 5 million frames
    "query.pool": 1024,  # of 256 clips of chance, two to seven had a point won
    "rollout.environments": 32,  # with 16 the fixed cost of a step takes a fifth of the emulators' time
    "rollout.steps": 64,
    "policy.learning_rate": 7e-4,
    "policy.decay": 0.5,
    "policy.minibatch": 256,
    "policy.epochs": 3,
}
_BAD_END = "If you see it die, that is very bad."

BEAM_RIDER = AtariTask(
    name="beam-rider",
    title="Beam Rider",
    instruction=f"Choose the clip in which it shoots more enemy ships and is not hit itself. {_BAD_END}",
    game="beam_rider",
    controls="← → move the ship      Space fires the laser      ↑ fires one of three torpedoes",
    sizes=(PIXELS, 9),
    blanked=(Box(8, 30, 56, 112), Box(31, 41, 16, 36)),  # score and sector; enemy ships left
    presets=PRESETS,
)
BREAKOUT = AtariTask(
    name="breakout",
    title="Breakout",
    instruction=(
        "Choose the clip in which the paddle hits the ball and more coloured bricks break. Letting the ball drop past"
        " the paddle is bad."
    ),
    game="breakout",
    controls="← → move the paddle      Space serves the ball",
    sizes=(PIXELS, 4),
    blanked=(Box(4, 16, 32, 84),),
    # An untrained life is worth a fifth of a brick. At a whole one for its end a policy learned never to serve.
    penalty=0.1,
    presets=PRESETS,
)
ENDURO = AtariTask(
    name="enduro",
    title="Enduro",
    instruction="Choose the clip in which the white car at the bottom overtakes more cars, and is overtaken by fewer.",
    game="enduro",
    controls="Space is the accelerator: hold it      ← → steer      ↓ brakes",
    sizes=(PIXELS, 9),
    blanked=(Box(160, 192, 46, 114),),  # speedometer, day, and cars to pass
    presets=PRESETS,
)
PONG = AtariTask(
    name="pong",
    title="Pong",
    instruction=(
        "Choose the clip in which the green paddle on the right gets the ball past the orange one on the left. Letting"
        " it past the green paddle is bad."
    ),
    game="pong",
    controls="↑ ↓ move the paddle, as → ← do      Space, held as it hits the ball, sends that back twice as fast",
    turned=True,
    sizes=(PIXELS, 6),
    blanked=(Box(0, 24, 0, 160),),
    penalty=0.0,
    presets={
        **PRESETS,
        "labels": 3000,
        "steps": 3_000_000,
        # Not as in A.2, nor as the other games: with these it was seen to win.
        "query.first_share": 0.2,
        "query.horizon": 2_000_000,  # evenly until then: a point is seldom won before, and what that is worth not known
        "query.half_life": 2e6,
        "reward.epochs_first": 25,
        "reward.max_labels": 2000,
        "reward.last_layer_scale": 1.0,  # with a small one a lost point stands out, but the policy took longer to hit the ball
        "rollout.environments": 16,
        "rollout.steps": 128,
    },
)
QBERT = AtariTask(
    name="qbert",
    title="Q*bert",
    instruction=(
        "Choose the clip in which more blocks change colour. Jumping off the side, or into an enemy, is very bad."
    ),
    game="qbert",
    controls="It jumps: → down and right      ↓ down and left      ↑ up and right      ← up and left",
    sizes=(PIXELS, 6),
    blanked=(Box(5, 15, 32, 74),),
    presets=PRESETS,
)
SEAQUEST = AtariTask(
    name="seaquest",
    title="Seaquest",
    instruction=(
        "Choose the clip in which the submarine shoots more fish and enemy submarines, or picks up divers. Being hit,"
        " or running out of air, is very bad."
    ),
    game="seaquest",
    controls="← → ↑ ↓ steer the submarine      Space shoots      It takes in air at the surface",
    sizes=(PIXELS, 18),
    blanked=(Box(8, 18, 56, 106),),
    presets=PRESETS,
)
SPACE_INVADERS = AtariTask(
    name="space-invaders",
    title="Space Invaders",
    instruction=f"Choose the clip in which the ship at the bottom shoots more invaders and is not shot. {_BAD_END}",
    game="space_invaders",
    controls="← → move the ship      Space shoots",
    sizes=(PIXELS, 6),
    blanked=(Box(9, 21, 0, 160),),  # the mothership too, which flies where the score stands
    presets=PRESETS,
)
ENDURO_EVEN = AtariTask(
    name="enduro-even",
    title="Enduro: even with the traffic",
    instruction=(
        "Choose the clip in which the white car stays level with the others: it should neither overtake them nor be"
        " overtaken. With no cars around it does well too."
    ),
    game="enduro",
    controls=ENDURO.controls,
    sizes=(PIXELS, 9),
    blanked=ENDURO.blanked,
    reward=pace,
    counted=pace,
    figures={"share_level": level},
    needs_memory=True,
    measure_name="share_level",
    measure_title="Share of time level with the traffic",
    measure_tells_reward=False,
    presets={**PRESETS, "labels": 1300, "steps": 1_000_000},  # 3.2: 1,300 queries and 4 million frames
)
GAMES = (BEAM_RIDER, BREAKOUT, ENDURO, PONG, QBERT, SEAQUEST, SPACE_INVADERS, ENDURO_EVEN)

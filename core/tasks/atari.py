"""The seven Atari games of figure 3, and Enduro in even mode, the third behaviour of section 3.2.

A step is four frames at 60 frames per second, so clips play at 15 fps and 25 steps last 1.7 s (A.2).

The paper contradicts itself about lost lives: in A, the agent can't observe that a life or a game has ended; in A.2, a
lost life ends an episode. Here both hold: policy and predictors see one endless episode, while for the oracle an episode
ends with each life and each game, which costs `penalty`, except in Pong (A). The paper does not specify the amount; here
it equals the largest reward of a step, and less in Breakout. As in A.2, rewards are clipped to [-1, 1], so the oracle
counts scoring steps rather than points; games are reported by their unclipped score. Training on the true reward
(`--teacher none`) uses exactly the oracle's reward, including the penalty, so that the two can be compared.
"""

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
"""Number of pictures in an observation, and their width and height in pixels (A.2)."""
PIXELS = STACK * SIDE * SIDE
NO_OPS = 30
"""Largest number of frames of a new game before the first action (A.2)."""
GAME_STEPS = 18_000 // FRAME_SKIP
"""Steps in five minutes, after which a game is ended, as in Mnih et al. (2015); otherwise some would never end."""
_TRAFFIC = 24
"""Enduro: speed of all other cars, in the unit of the console's memory."""
_SPEED = 22
"""Enduro: address of the player's speed in the console's memory; it is from 6 to 120 after the car has moved."""
_SLOWEST = 6


@dataclass(frozen=True)
class GameInfo:
    """One step of N games: the input of true reward and measure.

    points (N,) int64: points scored in the step
    memory (N, 128) uint8: the console's memory; (N, 0) unless AtariTask.needs_memory
    """

    points: npt.NDArray[np.int64]
    memory: npt.NDArray[np.uint8]


Figure = Callable[[GameInfo], Float64]
"""Maps one step of N games to a value for each, (N,)."""


@dataclass(frozen=True)
class Box:
    """Rectangle of the screen (210 rows, 160 columns); bottom and right are exclusive."""

    top: int
    bottom: int
    left: int
    right: int


def points(info: GameInfo) -> Float64:
    """Return the points scored, (N,)."""
    return info.points.astype(np.float64)


def clipped_points(info: GameInfo) -> Float64:
    """Return the points scored, clipped to [-1, 1], (N,) (A.2)."""
    return np.clip(points(info), -1, 1)


def pace(info: GameInfo) -> Float64:
    """Return the pace (N,): 1 at the traffic's speed, falling linearly to 0 at the slowest speed, or as much above.

    Only the speed counts. Passing cars can't be counted: the game ignores cars that pass the player before the player has
    passed one, so standing still would be enough.
    """
    return np.clip(1 - _off_pace(info) / (_TRAFFIC - _SLOWEST), 0, 1)


def level(info: GameInfo) -> Float64:
    """Return 1 if a visible car moves by less than its length in a second, else 0, (N,)."""
    return (_off_pace(info) <= 2).astype(np.float64)


def _off_pace(info: GameInfo) -> Float64:
    return np.abs(info.memory[:, _SPEED].astype(np.float64) - _TRAFFIC)


@dataclass(frozen=True, kw_only=True)
class AtariTask(Task):
    """A game of the Arcade Learning Environment, with the wrappers of A.2."""

    game: str
    """Name in ale-py."""
    controls: str
    """Effect of the arrow keys and Space for a person who plays; keys not mentioned do nothing."""
    turned: bool = False
    """True if the joystick's right means up on the screen, and its left down."""
    blanked: tuple[Box, ...]
    """Areas that show the score: black in the pictures for the networks and for the labeller (A.2)."""
    penalty: float = 1.0
    """Cost of the end of a life or a game in the true reward."""
    reward: Figure = clipped_points
    """True reward without the penalty."""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """Figures of the measure in addition to the score; means over the game are reported."""
    counted: Figure = points
    """Contribution of a step to the game's reported true return: unclipped and without the penalty."""
    needs_memory: bool = False
    """True if reward or figures read the console's memory."""

    segment_steps: int = 25
    episode_steps: int = 300
    """Length of an episode in the live view, 20 s. The learner sees no end, and games end by themselves."""
    measure_name: str = "score_per_game"
    measure_title: str = "Score per game"
    pictures: tuple[int, int, int] | None = (STACK, SIDE, SIDE)

    game_presets: Mapping[str, Any] = field(default_factory=lambda: PRESETS)
    """The preset 'default', in place of the robots'."""

    @property
    def presets(self) -> Mapping[str, Any]:
        return self.game_presets

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
    # Decided in docs/experiments/games.md.
    "labels": 3300,
    "steps": 5_000_000,
    "reward.std": 0.05,  # A.2, as is the next
    "reward.max_labels": 3000,
    # A.2 has 200 epochs and dropout .5, with which the first fit takes three times as long. Weight decay and hold-outs
    # limit overfitting instead.
    "reward.dropout": 0.0,
    "reward.epochs_first": 30,
    "reward.epochs": 1,
    "reward.steps_per_label": 20,  # A.2 has 10, on 16 cores and a GPU; on two cores, this halves the work
    "reward.minibatch": 8,
    "query.first_share": 0.15,  # A.2's 500 of 3,300, as a share so that later answers remain in shorter sessions
    "query.half_life": 1.25e6,  # 5 million frames
    "query.pool": 1024,  # of 256 clips of random play, only two to seven show a point won
    "rollout.environments": 32,  # with 16 the fixed cost of a step takes a fifth of the emulators' time
    "rollout.steps": 64,
    "policy.learning_rate": 7e-4,
    "policy.decay": 0.5,
    "policy.minibatch": 256,
    "policy.epochs": 3,
}
_NOTHING = " If neither clip shows any of this, answer with a tie."
_BAD_END = "If you see it die, that is very bad."

BEAM_RIDER = AtariTask(
    name="beam-rider",
    title="Beam Rider",
    instruction=f"Choose the clip in which the ship shoots more enemies and is not hit itself. {_BAD_END}{_NOTHING}",
    game="beam_rider",
    controls="← → move the ship      Space fires the laser      ↑ fires one of three torpedoes",
    sizes=(PIXELS, 9),
    blanked=(Box(8, 30, 56, 112), Box(31, 41, 16, 36)),  # score and sector; enemy ships left
)
BREAKOUT = AtariTask(
    name="breakout",
    title="Breakout",
    instruction=(
        "Choose the clip in which the paddle hits the ball and more coloured bricks break. Letting the ball drop past"
        " the paddle is bad." + _NOTHING
    ),
    game="breakout",
    controls="← → move the paddle      Space serves the ball",
    sizes=(PIXELS, 4),
    blanked=(Box(4, 16, 32, 84),),
    # An untrained policy breaks a fifth of a brick per life. With a penalty of 1 it learned never to serve.
    penalty=0.1,
)
ENDURO = AtariTask(
    name="enduro",
    title="Enduro",
    instruction="Choose the clip in which the white car at the bottom overtakes more cars, and is overtaken by fewer."
    + _NOTHING,
    game="enduro",
    controls="Space is the accelerator: hold it      ← → steer      ↓ brakes",
    sizes=(PIXELS, 9),
    blanked=(Box(160, 192, 46, 114),),  # speedometer, day, and cars to pass
)
PONG = AtariTask(
    name="pong",
    title="Pong",
    instruction=(
        "Choose the clip in which the green paddle on the right gets the ball past the orange one; letting it past the"
        " green one is bad. Most clips are too short for a point: if neither has one, answer with a tie."
    ),
    game="pong",
    controls="↑ ↓ (or → ←) move the paddle      Hold Space while hitting the ball to double its speed",
    turned=True,
    sizes=(PIXELS, 6),
    blanked=(Box(0, 24, 0, 160),),
    penalty=0.0,
    game_presets={
        **PRESETS,
        "labels": 3000,
        "steps": 3_000_000,
        # Decided in docs/experiments/games.md, Pong: with these it wins, but not with those of A.2 or of the other games.
        "query.first_share": 0.2,
        "query.horizon": 2_000_000,  # points are seldom won before, so that answers have to come evenly until then
        "query.half_life": 2e6,
        "reward.epochs_first": 25,
        "reward.max_labels": 2000,
        "reward.last_layer_scale": 1.0,  # with a small one the policy took longer to hit the ball
        "rollout.environments": 16,
        "rollout.steps": 128,
    },
)
QBERT = AtariTask(
    name="qbert",
    title="Q*bert",
    instruction=(
        "Choose the clip in which more blocks change colour. Jumping off the side, or into an enemy, is very bad."
        + _NOTHING
    ),
    game="qbert",
    controls="Jumps: → down and right      ↓ down and left      ↑ up and right      ← up and left",
    sizes=(PIXELS, 6),
    blanked=(Box(5, 15, 32, 74),),
)
SEAQUEST = AtariTask(
    name="seaquest",
    title="Seaquest",
    instruction=(
        "Choose the clip in which the submarine shoots more fish and enemy submarines, or picks up divers. Being hit,"
        " or running out of air, is very bad." + _NOTHING
    ),
    game="seaquest",
    controls="← → ↑ ↓ steer the submarine      Space shoots      Surface for air",
    sizes=(PIXELS, 18),
    blanked=(Box(8, 18, 56, 106),),
)
SPACE_INVADERS = AtariTask(
    name="space-invaders",
    title="Space Invaders",
    instruction=f"Choose the clip in which the ship at the bottom shoots more invaders and is not shot. {_BAD_END}{_NOTHING}",
    game="space_invaders",
    controls="← → move the ship      Space shoots",
    sizes=(PIXELS, 6),
    blanked=(Box(9, 21, 0, 160),),  # and the mothership, which flies across the score
)
ENDURO_EVEN = AtariTask(
    name="enduro-even",
    title="Enduro: even with the traffic",
    instruction=(
        "Choose the clip in which the white car stays level with the others: it should neither overtake them nor be"
        " overtaken. Driving with no cars around is good, too."
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
    game_presets={**PRESETS, "labels": 1300, "steps": 1_000_000},  # 3.2: 1,300 queries and 4 million frames
)
GAMES = (BEAM_RIDER, BREAKOUT, ENDURO, PONG, QBERT, SEAQUEST, SPACE_INVADERS, ENDURO_EVEN)

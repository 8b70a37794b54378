"""Events of the services besides training: clips, previews, practice, earlier policies, films, exports, votes, games.

Each request goes to one job, which replies to it; none of them affects training.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.events import Arrays, Event
from core.types import Float32, Frames, Query, Segment


@dataclass(frozen=True)
class ClipsRequested(Event):
    """Request to render segments, with `size` pixels on the longer side. The reply has the same `token`.

    first: render it before all waiting requests
    """

    token: int
    segments: tuple[Segment, ...]
    size: int
    fps: float
    first: bool = False


@dataclass(frozen=True)
class ClipsRendered(Event):
    """The clips of a ClipsRequested, in the order of its segments."""

    token: int
    clips: tuple[Frames, ...]


PREVIEW_FPS = 12.0
"""Pictures a second of previews."""


@dataclass(frozen=True)
class PreviewRequested(Event):
    """Request for a task's preview, for the catalogue."""

    task: str


@dataclass(frozen=True)
class PreviewDrawn(Event):
    """The preview of a task."""

    task: str
    frames: Frames


@dataclass(frozen=True)
class PreviewRefused(Event):
    """Refusal of a preview. sentence: the reason"""

    task: str
    sentence: str


@dataclass(frozen=True)
class SceneRequested(Event):
    """Request for clips of a behaviour's robot in random motion, `size` pixels wide and high. A newer request replaces it.

    behaviour: text of the behaviour file
    still: index of the only frame to render; None for all frames
    """

    token: int
    behaviour: str
    size: int
    still: int | None = None


@dataclass(frozen=True)
class SceneDrawn(Event):
    """Reply to a SceneRequested: the clips, one after the other. constant: signals that never change on this robot"""

    token: int
    frames: Frames
    constant: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SceneRefused(Event):
    """Refusal to render a scene or practice pairs. sentence: the reason"""

    token: int
    sentence: str


@dataclass(frozen=True)
class PracticeRequested(Event):
    """Request for practice pairs of this behaviour, one after the other. A newer request replaces it.

    behaviour: text of the behaviour file
    size: width and height of the clips in pixels
    """

    token: int
    behaviour: str
    pairs: int
    size: int


@dataclass(frozen=True)
class PracticePairDrawn(Event):
    """One of the practice pairs of a PracticeRequested; the reply is SceneRefused if there can be none."""

    token: int
    query: Query
    left: Frames
    right: Frames


@dataclass(frozen=True)
class ReplayRequested(Event):
    """Request to render an episode of a policy without noise. The reply has the same `token`."""

    token: int
    weights: Arrays
    size: int
    fps: float


@dataclass(frozen=True)
class ReplayRendered(Event):
    """The episode of a ReplayRequested; fields as in DemonstrationRecorded."""

    token: int
    clip: Frames
    predicted: Float32
    measure: dict[str, float]
    signals: dict[str, Float32] = field(default_factory=dict)


@dataclass(frozen=True)
class ReplayRefused(Event):
    """Refusal of a replay. reason: one sentence"""

    token: int
    reason: str


FILM_HEIGHT, TALK_HEIGHT = 720, 1080
"""Usual heights in pixels of a film of the learning and of a film for a talk."""


@dataclass(frozen=True)
class FilmRequested(Event):
    """Request for a film of the policies saved in a session's folder.

    target: path of the file
    before_after: show the untrained and the newest policy side by side, instead of the course of learning
    height: height in pixels, a multiple of 18; the width is 16/9 of it
    """

    folder: str
    target: str
    before_after: bool
    height: int


@dataclass(frozen=True)
class FilmProgressed(Event):
    """Progress of a film, from 0 to 1."""

    share: float


@dataclass(frozen=True)
class FilmMade(Event):
    """Report of a finished film at `target`.

    note: sentences about omissions, or ''
    """

    target: str
    note: str


@dataclass(frozen=True)
class PortableRequested(Event):
    """Request to write policy and predicted reward of a session's newest checkpoint as ONNX files.

    target: path of the policy's file
    """

    folder: str
    target: str


@dataclass(frozen=True)
class PortableMade(Event):
    """Report of written ONNX files.

    paths: all files that were written
    note: a sentence about a missing file, or ''
    """

    paths: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class VotingServed(Event):
    """Address at which guests can vote from now on."""

    url: str


@dataclass(frozen=True)
class VoteOpened(Event):
    """Start of a round of votes. seconds: its duration; 0 for no vote until the next pair"""

    round: int
    seconds: float


@dataclass(frozen=True)
class VotesCounted(Event):
    """Votes so far by choice, and the seconds left. final: whether the round has ended"""

    round: int
    counts: dict[str, int]
    seconds: float
    final: bool


@dataclass(frozen=True)
class VotesNotStored(Event):
    """Report that the votes for an answer could not be written; the answer itself is stored. reason: one sentence"""

    reason: str


@dataclass(frozen=True)
class VoteKept(Event):
    """Report that the majority of a round is stored, as the answer with this number in the session's folder."""

    folder: str
    round: int
    answer: int
    choice: str


@dataclass(frozen=True)
class ControlsHeld(Event):
    """Controls that the player of a game holds down, valid until the next ControlsHeld."""

    left: bool = False
    right: bool = False
    up: bool = False
    down: bool = False
    fire: bool = False


@dataclass(frozen=True)
class GameShown(Event):
    """Current screen of the game being played. pixels: (210, 160, 3) uint8, RGB, including the score"""

    pixels: npt.NDArray[np.uint8]
    score: int
    lives: int
    """0 in games without lives."""

"""Events of the services next to training: clips, previews, practice, earlier policies, films, exports, votes, games.

Each request goes to one job, which replies to it; none of them changes what is learned.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.events import Arrays, Event
from core.types import Float32, Frames, Query, Segment


@dataclass(frozen=True)
class ClipsRequested(Event):
    """Request to render segments, their longer side `size` pixels. The reply has `token`.

    first: before the requests that are not so, and the newest of several first
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
    """Refusal of a preview; `sentence` says why."""

    task: str
    sentence: str


@dataclass(frozen=True)
class SceneRequested(Event):
    """Request for clips of a behaviour's robot in random motion, `size` pixels wide and high. A newer request replaces it.

    behaviour: text of the behaviour file
    still: index of the only frame that is wanted; None for all
    """

    token: int
    behaviour: str
    size: int
    still: int | None = None


@dataclass(frozen=True)
class SceneDrawn(Event):
    """The clips that were requested with this token, one after the other."""

    token: int
    frames: Frames


@dataclass(frozen=True)
class SceneRefused(Event):
    """Refusal to render a scene or practice pairs; `sentence` says why."""

    token: int
    sentence: str


@dataclass(frozen=True)
class PracticeRequested(Event):
    """Request for practice pairs of this behaviour, one after the other; a newer request ends an older one.

    behaviour: text of the behaviour file
    size: pixels of the clips, which are square
    """

    token: int
    behaviour: str
    pairs: int
    size: int


@dataclass(frozen=True)
class PracticePairDrawn(Event):
    """One of the practice pairs that were requested with this token; SceneRefused if there can be none."""

    token: int
    query: Query
    left: Frames
    right: Frames


@dataclass(frozen=True)
class ReplayRequested(Event):
    """Request to render an episode of a policy without noise. The reply has `token`."""

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
    """Refusal of a replay; `reason` is one sentence."""

    token: int
    reason: str


@dataclass(frozen=True)
class FilmRequested(Event):
    """Request for a film of the policies kept in a session's folder.

    before_after: show the untrained and the newest policy side by side, instead of the course of learning
    height: in pixels, a multiple of 18; the width is 16/9 of it
    """

    folder: str
    target: str
    before_after: bool = False
    height: int = 720


@dataclass(frozen=True)
class FilmProgressed(Event):
    """Progress of a film, from 0 to 1."""

    share: float


@dataclass(frozen=True)
class FilmMade(Event):
    """Report of a finished film at `target`.

    note: sentences about anything left out; or ''
    """

    target: str
    note: str

    @property
    def summary(self) -> str:
        """Text for the person who asked for the film."""
        target = Path(self.target)
        saved = f"Saved {target.name} in {target.absolute().parent}."
        return " ".join(part for part in (saved, self.note) if part)


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

    paths: of all files that were written
    note: a sentence about anything left out, or ''
    """

    paths: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class VotingServed(Event):
    """Address at which guests can vote from now on."""

    url: str


@dataclass(frozen=True)
class VoteOpened(Event):
    """Start of a round of votes that lasts this many seconds; 0 for no vote until the next pair."""

    round: int
    seconds: float


@dataclass(frozen=True)
class VotesCounted(Event):
    """Votes so far by choice, and the seconds left. final: the round has ended with these"""

    round: int
    counts: dict[str, int]
    seconds: float
    final: bool


@dataclass(frozen=True)
class VotesNotStored(Event):
    """Report that the votes behind an answer, which is itself on disk, could not be written. reason: one sentence"""

    reason: str


@dataclass(frozen=True)
class VoteKept(Event):
    """Report that the majority of a round is on disk, as this answer of the session in `folder`."""

    folder: str
    round: int
    answer: int
    choice: str


@dataclass(frozen=True)
class ControlsHeld(Event):
    """Controls that the player of a game holds down, until the next such event."""

    left: bool = False
    right: bool = False
    up: bool = False
    down: bool = False
    fire: bool = False


@dataclass(frozen=True)
class GameShown(Event):
    """Present screen of the game being played. pixels: (210, 160, 3) uint8, RGB, including the score."""

    pixels: npt.NDArray[np.uint8]
    score: int
    lives: int
    """0 in games without lives."""

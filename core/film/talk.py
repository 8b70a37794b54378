"""A film of half a minute for a talk: the untrained policy, clips as they were compared, the curve, the final policy."""

from collections.abc import Container, Iterator
from contextlib import closing
from pathlib import Path

from core.config import Config
from core.envs.renderer import Renderer
from core.film import captions
from core.film.captions import Picture
from core.film.film import FPS, FilmJob, FilmScene
from core.formatting import pluralize
from core.io.segment_codec import can_be_shown
from core.metrics import evenly
from core.preferences.store import FOLDER, PreferenceStore, PreferenceSummary
from core.service_events import FilmRequested
from core.types import AUDIENCE, Choice, Preference
from core.voting.record import Votes, read_votes

_UNTRAINED, _COMPARED, _CURVE, _FINAL = 5.0, 4.0, 4.0, 6.0
"""Duration of each part in seconds; the second is the duration of each pair."""
_PAIRS = 3
_CHOSEN = 0.45
"""Fraction of a comparison's duration after which the choice is shown."""


class TalkJob(FilmJob):
    """Answers a FilmRequested as FilmJob does, with the film for a talk."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, scene_seconds=_UNTRAINED, last_seconds=_FINAL, card_seconds=3.0)

    def _count_pictures(self, scenes: int, before_after: bool) -> int:
        return self._card_frames + round(FPS * (_UNTRAINED + _PAIRS * _COMPARED + _CURVE + _FINAL))

    def _learning(self, request: FilmRequested, scenes: list[FilmScene], renderer: Renderer) -> Iterator[Picture]:
        folder, height = Path(request.folder), request.height
        curve, title = [scene.figure for scene in scenes], self._task.title
        first, last = scenes[0], scenes[-1]
        for clip in renderer.pictures(first.states[: self._scene_steps], height, FPS):
            yield captions.learning(clip, title, first.caption, curve, 0)
        votes = read_votes(folder)
        with closing(PreferenceStore(folder / FOLDER, read_only=True)) as store:
            rows = store.labels()
            decided = {row.id: votes[row.id] for row in rows if row.id in votes and decides(votes[row.id], row)}
            for row in telling_answers(rows, _PAIRS, decided):
                caption, answer = f"Answer {1 + rows.index(row)} of {len(rows)}", store.answer(row.id)
                if can_be_shown(answer.query):
                    yield from self._compared(answer, caption, decided.get(row.id), renderer, height)
        yield from self._curve(scenes, curve, height)
        for clip in renderer.pictures(last.states[: self._last_steps], height, FPS):
            yield captions.learning(clip, title, last.caption, curve, len(curve) - 1)

    def _compared(
        self, answer: Preference, caption: str, votes: Votes | None, renderer: Renderer, height: int
    ) -> Iterator[Picture]:
        """Yield both clips in a loop, as the labeller saw them, and after a while the choice."""
        side = height * 8 // 9
        sides = [[*renderer.pictures(s.states, side, FPS)] for s in (answer.query.left, answer.query.right)]
        frames = round(_COMPARED * FPS)
        words = answer.choice.sentence
        if votes:
            words += f": {votes.counts[answer.choice]} of {pluralize(len(votes.voters), 'vote')}"
        for number in range(frames):
            clips = [clip[number % len(clip)] for clip in sides]
            shown = number >= _CHOSEN * frames
            yield captions.compared(clips, caption, words if shown else "", answer.choice if shown else None)

    def _curve(self, scenes: list[FilmScene], curve: list[float], height: int) -> Iterator[Picture]:
        frames = round(_CURVE * FPS)
        for number in range(frames):
            at = min(len(curve) - 1, number * (len(curve) + 1) // frames)
            yield captions.curve_card(height, curve, at, scenes[at].caption)


def decides(votes: Votes, row: PreferenceSummary) -> bool:
    """Return whether most votes were for this answer; False if it was changed later, or is a tie made of a split vote."""
    stands = row.labeller == AUDIENCE and row.choice == votes.choice
    return stands and votes.counts[row.choice] == max(votes.counts.values())


def telling_answers(rows: list[PreferenceSummary], count: int, voted: Container[int] = ()) -> list[PreferenceSummary]:
    """Choose up to `count` answers, evenly spread over time; only those that prefer a clip, if there are any.

    voted: numbers of the answers to choose first
    """
    clear = [row for row in rows if row.choice in (Choice.LEFT, Choice.RIGHT)]
    clear = clear or [row for row in rows if row.choice == Choice.TIE]
    chosen = _spread([row for row in clear if row.id in voted], count)
    chosen += _spread([row for row in clear if row not in chosen], count - len(chosen))
    return sorted(chosen, key=rows.index)


def _spread(rows: list[PreferenceSummary], count: int) -> list[PreferenceSummary]:
    return [rows[index] for index in evenly(len(rows), min(count, len(rows)))]

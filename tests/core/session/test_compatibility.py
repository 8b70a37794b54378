"""A store of answers that is whole and yet not this session's is told of in a sentence, before anything is begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from core.config import Config, replaced
from core.envs import make_envs
from core.errors import UserError
from core.headless.run import HeadlessRun
from core.io.segment_codec import from_arrays, to_arrays
from core.preferences import integrity
from core.preferences.store import PreferenceStore
from core.session.archive import export_session, import_session
from core.session.compatibility import require_fitting
from core.session.preference_export import export_preferences
from core.session.session import Session
from core.tasks import CATALOGUE, get_task
from core.types import Choice, Query, Segment
from tests.core.builders import query, segment, tiny
from tests.core.picture_toys import packed_whole


def sized(observed: int, acted: int, steps: int = 5) -> Segment:
    numbers = np.zeros((steps, observed), np.float32), np.zeros((steps, acted), np.float32), np.zeros((steps, 13))
    return Segment(1, *numbers, None, 7)


def pictures(side: int) -> Segment:
    plain = Segment(1, np.zeros((5, 4 * side**2), np.uint8), np.zeros((5, 6), np.float32), np.zeros((5, 0)), None, 7)
    return packed_whole(plain, (4, side, side))


def session_with(folder: Path, *segments: Segment, config: Config | None = None) -> Session:
    made = Session.create(folder, config or tiny(query__segment_steps=5))
    with closing(made.store()) as store:
        for number, one in enumerate(segments):
            store.add(Query(number, one, one, 0.5), Choice.LEFT, "human")
    return made


def run(session: Session) -> None:
    HeadlessRun(session, lambda event: None, threads=1).close()


def pass_on(session: Session) -> None:
    export_session(session, session.folder.parent / "shared")
    import_session(session.folder.parent / "shared", session.folder.parent / "back")


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_knows_the_sizes_of_each_task(name: str) -> None:
    env = make_envs(get_task(name), 1, np.random.default_rng(0), threads=1)
    env.close()
    assert get_task(name).sizes == env.sizes[:2]


@pytest.mark.parametrize("use", [run, pass_on])
@pytest.mark.parametrize(
    ("segments", "told"),
    [
        ((sized(17, 6),), "Answer 1 .*17 numbers a step and not 12"),
        ((sized(12, 3), sized(12, 6)), "Answer 2 .*6 numbers and not 3"),
        ((sized(12, 3), sized(12, 3, steps=9)), "Answer 2 .*9 steps and not 5"),
        ((sized(12, 3, steps=40),), "Answer 1 .*40 steps and not 5"),
        ((pictures(8),), "Answer 1 .*4 x 8 x 8 pixels a step and not 12 numbers"),
    ],
)
def test_answers_to_another_task_are_refused(
    tmp_path: Path, segments: tuple[Segment, ...], told: str, use: Callable[[Session], object]
) -> None:
    session = session_with(tmp_path / "s", *segments)
    with pytest.raises(UserError, match=told) as caught:
        use(session)
    session.close()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    assert not (tmp_path / "back").exists()


def test_pictures_of_another_size_are_refused_unread(tmp_path: Path) -> None:
    pong = replaced(Config(task="pong"), query__segment_steps=5)
    session = session_with(tmp_path / "s", pictures(84), pictures(8), config=pong)
    with closing(session.store()) as store, pytest.raises(UserError, match="4 x 8 x 8 pixels .* 4 x 84 x 84"):
        require_fitting(store, pong)
    session.close()


def test_of_an_environment_that_the_catalogue_does_not_know_all_answers_must_be_alike(tmp_path: Path) -> None:
    session = session_with(tmp_path / "s", sized(4, 2), sized(5, 2))
    config = replaced(Config(task="gym:CartPole-v1"), query__segment_steps=5)
    with closing(session.store()) as store:
        with pytest.raises(UserError, match="Answer 2 .*5 numbers a step and not 4"):
            require_fitting(store, config)
        with pytest.raises(UserError, match="Answer 1 .*2 numbers and not 3"):
            require_fitting(store, config, (4, 3))
    session.close()


def test_an_import_reads_one_answer_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_with(tmp_path / "s", *[segment(number) for number in range(5)])
    with closing(session.store()) as store:
        store.undo()
        assert [kept.preference.id for kept in store.iter_records()] == [kept.preference.id for kept in store.history()]
        assert [kept.withdrawn for kept in store.iter_records()] == [False] * 4 + [True]
    monkeypatch.setattr(PreferenceStore, "history", None)
    pass_on(session)
    session.close()


@pytest.mark.parametrize(
    "change",
    [
        "disagreement = 'much'",
        "disagreement = 9e999",
        "answered_at = 'yesterday'",
        "answered_at = -9e999",
        "labeller = x'00'",
        "query = 'first'",
        "left_return = 'all', right_return = 'none'",
        "right_return = 9e999, left_return = 1.0",
        "pool_mean = 'so-so', pool_worst = 0.5",
        "repeats = 'one'",
    ],
)
def test_a_row_that_makes_no_sense_is_one_that_cannot_be_read_whatever_its_seal(tmp_path: Path, change: str) -> None:
    session = session_with(tmp_path / "s", segment(1), segment(2), segment(3))
    with closing(sqlite3.connect(tmp_path / "s" / "preferences.sqlite", isolation_level=None)) as vandal:
        vandal.execute(f"UPDATE preferences SET {change} WHERE id = 2")
        integrity.seal(vandal, 2)
    with pytest.raises(UserError, match=rf"not imported: .*can't be read .the {change.split()[0]} of number 2 [^:]*$"):
        pass_on(session)
    assert export_preferences(session, tmp_path / "out") == (2, 1)
    session.close()


def test_a_segment_larger_than_any_is_not_read(tmp_path: Path) -> None:
    session = session_with(tmp_path / "s", segment(1))
    with closing(sqlite3.connect(tmp_path / "s" / "preferences.sqlite", isolation_level=None)) as vandal:
        vandal.execute(f"UPDATE segments SET arrays = zeroblob({65 << 20})")
    with closing(session.store()) as store, pytest.raises(UserError, match="too big"):
        store.history()
    session.close()


def long_headed(made: Segment) -> bytes:
    return save(to_arrays(made), metadata={"note": "x" * (1 << 16)})


def two_faced(made: Segment) -> bytes:
    """It has stacks of pictures of the task's size, and yet is a plain one."""
    shown = {name: array for name, array in to_arrays(pictures(84)).items() if name in ("stacks", "pictures_shape")}
    return save({**to_arrays(made), **shown})


def ambiguous(made: Segment) -> bytes:
    """The shape of its pictures is another one when it is read as what it is."""
    arrays = to_arrays(pictures(84))
    shape = np.frombuffer(arrays["pictures_shape"].tobytes(), np.int32)
    return save({**arrays, "pictures_shape": shape[:3].copy(), "pictures_shape_too": shape[3:].copy()})


@pytest.mark.parametrize("use", [run, pass_on])
@pytest.mark.parametrize(
    ("task", "spoil", "told"),
    [
        ("hopper-backflip", long_headed, "can't be read|damaged"),
        ("pong", two_faced, "it shows 12 numbers a step and not 4 x 84 x 84"),
        ("pong", ambiguous, "the shape of its pictures is of another kind"),
    ],
)
def test_a_segment_that_claims_another_size_than_it_has_is_refused(
    tmp_path: Path, task: str, spoil: Callable[[Segment], bytes], told: str, use: Callable[[Session], object]
) -> None:
    """Also of an answer that was taken back, which may be given again."""
    session = session_with(tmp_path / "s", segment(1), config=replaced(tiny(query__segment_steps=5), task=task))
    with closing(session.store()) as store:
        store.undo()
    with closing(sqlite3.connect(tmp_path / "s" / "preferences.sqlite", isolation_level=None)) as vandal:
        vandal.execute("UPDATE segments SET arrays = ?", (spoil(sized(12, 6, steps=5)),))
        integrity.seal(vandal, 1)
    with pytest.raises(UserError, match=told):
        use(session)
    session.close()


def test_a_table_of_segments_whose_sizes_cannot_be_looked_at_is_refused(tmp_path: Path) -> None:
    session = session_with(tmp_path / "s", segment(1), config=tiny(query__segment_steps=40))
    with closing(sqlite3.connect(tmp_path / "s" / "preferences.sqlite", isolation_level=None)) as vandal:
        vandal.execute("ALTER TABLE segments RENAME TO old")
        columns = "id INTEGER PRIMARY KEY, env_steps INTEGER, arrays BLOB"
        vandal.execute(f"CREATE TABLE segments ({columns}) WITHOUT ROWID")
        vandal.execute("INSERT INTO segments SELECT * FROM old")
        vandal.execute("DROP TABLE old")
    with pytest.raises(UserError, match="another program"):
        run(session)
    session.close()


@pytest.mark.parametrize(
    "arrays",
    [
        {"observations": np.zeros(5, np.float32)},
        {"actions": np.zeros(5, np.float32)},
        {"states": np.zeros(5)},
        {"states": np.zeros((4, 13))},
        {"observations": np.zeros((5, 12))},
        {"observations": np.full((5, 12), np.nan, np.float32)},
        {"actions": np.full((5, 3), np.inf, np.float32)},
        {"true_rewards": np.zeros(4, np.float32)},
        {"true_rewards": np.zeros((5, 1), np.float32)},
        {name: np.zeros((0, 3), np.float32) for name in ("observations", "actions", "states")},
    ],
)
def test_a_segment_whose_arrays_make_no_sense_is_not_taken(arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="whole|infinite"):
        from_arrays(1, 7, {**to_arrays(segment(1)), **arrays})


def test_whole_answers_of_its_own_are_let_through(tmp_path: Path) -> None:
    session = session_with(tmp_path / "s", segment(1), replace(segment(2), true_rewards=np.zeros(5, np.float32)))
    with closing(session.store()) as store:
        store.add(query(9, disagreement=float("nan")), Choice.TIE, "oracle", (0.0, 1.0))
    run(session)
    pass_on(session)
    session.close()

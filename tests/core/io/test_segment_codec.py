"""Packing of segments of pictures: small, and restored bit for bit."""

from __future__ import annotations

import weakref
from contextlib import closing
from pathlib import Path

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms

from core.config import Config, replaced
from core.errors import UserError
from core.io.segment_codec import (
    CompressedArray,
    CompressedSegment,
    compress,
    compress_segment,
    from_arrays,
    to_arrays,
)
from core.preferences.store import PreferenceStore
from core.session.archive import import_session
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session
from core.types import Choice, Query, Segment
from tests.core.builders import packed

GAMES = ("beam_rider", "breakout", "enduro", "pong", "qbert", "seaquest", "space_invaders")
STEPS = 25
LABELS, STORE_BYTES = 5500, 4 << 30


def stacked(pictures: np.ndarray) -> np.ndarray:
    """Convert (k + 3, h, w) to stacks (k, 4 * h * w) as returned by an environment."""
    return np.stack([pictures[t : t + 4] for t in range(len(pictures) - 3)]).reshape(len(pictures) - 3, -1)


def noise(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 84, 84), np.uint8)


def kept_of(pictures: np.ndarray, actions: np.ndarray, states: np.ndarray) -> CompressedSegment:
    """Return a packed segment of these (k + 3, h, w) pictures."""
    plain = Segment(1, stacked(pictures), actions, states, None, 7)
    return compress_segment(plain, pictures)


def played(game: str) -> tuple[Segment, np.ndarray]:
    """Return 25 steps of random play as the networks see them, with screens in colour as states."""
    emulator, rng = ale_py.ALEInterface(), np.random.default_rng(0)
    emulator.setInt("random_seed", 1)
    emulator.loadROM(roms.get_rom_path(game))
    actions = emulator.getMinimalActionSet()
    screens = []
    for step in range(60 + STEPS + 3):
        action, pair = actions[rng.integers(len(actions))], []
        for _ in range(4):
            emulator.act(action)
            pair = [*pair[-1:], emulator.getScreenRGB()]
        if step >= 60:
            screens.append(np.maximum(*pair))
    grey = [cv2.resize(cv2.cvtColor(s, cv2.COLOR_RGB2GRAY), (84, 84), interpolation=cv2.INTER_AREA) for s in screens]
    states = np.stack(screens[3:]).reshape(STEPS, -1)
    one_hot = np.eye(len(actions), dtype=np.float32)[rng.integers(len(actions), size=STEPS)]
    seen = np.stack(grey)
    return Segment(1, stacked(seen), one_hot, states, rng.random(STEPS, np.float32), 100), seen


def assert_same(one: Segment, other: Segment) -> None:
    assert (one.id, one.env_steps, one.length) == (other.id, other.env_steps, other.length)
    for name in ("observations", "actions", "states", "true_rewards"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs), name


@pytest.mark.parametrize(
    "game", [pytest.param(game, marks=[pytest.mark.slow] * (game not in ("enduro", "pong"))) for game in GAMES]
)
def test_a_packed_segment_of_a_game_is_small_and_restored_bit_for_bit(game: str, tmp_path: Path) -> None:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    segment, pictures = played(game)
    kept = compress_segment(segment, pictures)
    assert_same(kept, segment)
    assert kept.pictures.shape == (STEPS + 3, 84, 84)  # each picture once
    assert sum(array.nbytes for array in to_arrays(kept).values()) < 64_000
    with closing(PreferenceStore(tmp_path / "answers")) as store:
        for number in range(8):
            store.add(Query(number, kept, kept, 0.5), Choice.LEFT, "oracle")
        found = next(store.each())
    restored = found.query.left
    assert isinstance(restored, CompressedSegment)
    assert np.array_equal(restored.observations, segment.observations)
    assert np.array_equal(restored.states, segment.states)
    assert LABELS / 8 * sum(path.stat().st_size for path in (tmp_path / "answers").iterdir()) < STORE_BYTES / 4


def test_a_compressed_segment_does_not_keep_its_pictures_alive() -> None:
    pictures = noise(STEPS + 3)
    kept = kept_of(pictures, np.eye(STEPS, 6, dtype=np.float32), np.zeros((STEPS, 0), np.uint8))
    original = weakref.ref(pictures)
    del pictures
    assert original() is None
    assert np.array_equal(kept.observations, stacked(noise(STEPS + 3)))


def damaged(name: str, value: np.ndarray) -> dict[str, np.ndarray]:
    kept = kept_of(noise(8), np.eye(5, 6, dtype=np.float32), np.zeros((5, 9), np.uint8))
    return {**to_arrays(kept), name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pictures_shape", np.array([4, 84, 84])),
        ("pictures_shape", np.array([8, 0, 84])),
        ("pictures_shape", np.array([8, -84, -84])),
        ("pictures_shape", np.array([8, 32_000, 32_000])),
        ("pictures_shape", np.array([8, 84])),
        ("pictures", np.zeros(100, np.float32)),
        ("states_packed", np.zeros(4, np.float64)),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(name: str, value: np.ndarray) -> None:
    with pytest.raises(ValueError, match="whole|bytes"):
        from_arrays(1, 7, damaged(name, value))


@pytest.mark.parametrize("shape", [(28, 84, 85), (27, 84, 84), (-1, 84, 84), (1 << 20, 1 << 20, 1)])
def test_a_payload_of_another_size_is_refused_before_memory_is_taken(shape: tuple[int, ...]) -> None:
    payload = compress(noise(28)).payload
    with pytest.raises(ValueError, match="size|impossible"):
        CompressedArray(payload, shape).array()


def test_the_longest_segment_of_a_game_is_accepted() -> None:
    still = CompressedArray(compress(np.zeros((1003, 84, 84), np.uint8)).payload, (1003, 84, 84))
    arrays = {"actions": np.zeros((1000, 6), np.float32), "states": np.zeros((1000, 0), np.uint8)}
    arrays |= {"pictures": still.payload, "pictures_shape": np.array(still.shape)}
    assert from_arrays(1, 7, arrays).observations.shape == (1000, 4 * 84 * 84)


@pytest.mark.parametrize("pictures", [1204, 1 << 40])
def test_pictures_with_stacks_larger_than_memory_are_refused(pictures: int) -> None:
    arrays = damaged("pictures_shape", np.array([pictures, 84, 84]))
    with pytest.raises(ValueError, match="whole"):
        from_arrays(1, 7, arrays)


def test_a_session_with_invalid_pictures_is_not_imported(tmp_path: Path) -> None:
    kept = from_arrays(1, 7, damaged("pictures", np.full(50, 7, np.uint8)))
    session = Session.create(tmp_path / "s", replaced(Config(task="pong"), query__segment_steps=5))
    with closing(session.store()) as store:
        store.add(Query(1, kept, kept, 0.5), Choice.LEFT, "oracle")
    packed(session, tmp_path / "shared")
    export_preferences(session, tmp_path / "answers")
    session.close()
    with pytest.raises(UserError, match="not imported: Answer 1 is damaged .a compressed array is damaged"):
        import_session(tmp_path / "shared", tmp_path / "back")
    with pytest.raises(UserError, match="Answer 1 is damaged .a compressed array is damaged"):
        import_preferences(tmp_path / "answers", tmp_path / "back")
    assert not (tmp_path / "back").exists()

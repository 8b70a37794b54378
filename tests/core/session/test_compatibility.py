"""Undamaged stores of another task, which are refused in a sentence before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.config import Config, replaced
from core.errors import UserError
from core.headless.run import HeadlessRun
from core.io import tensor_file
from core.io.segment_codec import compress_segment, from_arrays, to_arrays
from core.preferences.store import encode
from core.session.archive import import_session
from core.session.compatibility import require_fitting
from core.session.session import Session
from core.types import Choice, Query, Segment
from tests.core.builders import packed, query, segment, tiny


def sized(observed: int, acted: int, steps: int = 5) -> Segment:
    numbers = np.zeros((steps, observed), np.float32), np.zeros((steps, acted), np.float32), np.zeros((steps, 13))
    return Segment(1, *numbers, None, 7)


def pictures(side: int) -> Segment:
    plain = Segment(1, np.zeros((5, 4 * side**2), np.uint8), np.zeros((5, 6), np.float32), np.zeros((5, 0)), None, 7)
    return compress_segment(plain, np.zeros((8, side, side), np.uint8))


def session_with(folder: Path, *segments: Segment, config: Config | None = None) -> Session:
    made = Session.create(folder, config or tiny(query__segment_steps=5))
    with closing(made.store()) as store:
        for number, one in enumerate(segments):
            store.add(Query(number, one, one, 0.5), Choice.LEFT, "human")
    return made


def run(session: Session) -> None:
    HeadlessRun(session, lambda event: None, threads=1).close()


def pass_on(session: Session) -> None:
    packed(session, session.folder.parent / "shared")
    import_session(session.folder.parent / "shared", session.folder.parent / "back")


@pytest.mark.parametrize("use", [run, pass_on])
@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ((sized(17, 6),), "Answer 1 .*17 numbers a step, not 16"),
        ((sized(16, 3), sized(16, 6)), "Answer 2 .*6 numbers, not 3"),
        ((sized(16, 3), sized(16, 3, steps=9)), "Answer 2 .*9 steps, not 5"),
        ((sized(16, 3, steps=40),), "Answer 1 .*40 steps, not 5"),
        ((pictures(8),), "Answer 1 .*4 x 8 x 8 pixels a step, not 16 numbers"),
    ],
)
def test_answers_to_another_task_are_refused(
    tmp_path: Path, segments: tuple[Segment, ...], expected: str, use: Callable[[Session], object]
) -> None:
    session = session_with(tmp_path / "s", *segments)
    with pytest.raises(UserError, match=expected) as caught:
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


def test_answers_to_an_unknown_environment_must_have_the_same_sizes(tmp_path: Path) -> None:
    session = session_with(tmp_path / "s", sized(4, 2), sized(5, 2))
    config = replaced(Config(task="gym:CartPole-v1"), query__segment_steps=5)
    with closing(session.store()) as store:
        with pytest.raises(UserError, match="Answer 2 .*5 numbers a step, not 4"):
            require_fitting(store, config)
        with pytest.raises(UserError, match="Answer 1 .*2 numbers, not 3"):
            require_fitting(store, config, (4, 3))
    session.close()


def rewritten(session: Session, spoil: Callable[[dict[str, Any], dict[str, np.ndarray]], object]) -> None:
    """Rewrite answer 1 with other content and valid checksums."""
    folder = session.folder / "preferences"
    lines = (folder / "log.jsonl").read_bytes().splitlines()
    record, arrays = tensor_file.read(folder / "00000001.safetensors", 1 << 20)
    spoil(record, arrays)
    (folder / "00000001.safetensors").write_bytes(tensor_file.as_file(record, arrays))
    head = encode(1, {"do": "add", "answer": record})
    (folder / "log.jsonl").write_bytes(head + b"".join(line + b"\n" for line in lines[1:]))


@pytest.mark.parametrize("use", [run, pass_on])
@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda record, arrays: record["left"].update(steps=9), "Answer 1 .*9 steps, not 5"),
        (
            lambda record, arrays: arrays.update({"left.actions": np.zeros((5, 6), np.float32)}),
            "not of the size that the log says",
        ),
        (lambda record, arrays: arrays.pop("right.states"), "damaged .'states'"),
        (lambda record, arrays: arrays["right.actions"].fill(np.inf), "infinite"),
    ],
)
def test_a_falsified_answer_is_refused(
    tmp_path: Path,
    spoil: Callable[[dict[str, Any], dict[str, np.ndarray]], object],
    expected: str,
    use: Callable[..., Any],
) -> None:
    session = session_with(tmp_path / "s", segment(1), segment(2))
    rewritten(session, spoil)
    with pytest.raises(UserError, match=expected):
        use(session)
    session.close()


@pytest.mark.parametrize(
    "arrays",
    [
        {"states": np.zeros(5)},
        {"states": np.zeros((4, 13))},
        {"observations": np.zeros((5, 16))},
        {"observations": np.full((5, 16), np.nan, np.float32)},
        {"actions": np.full((5, 3), np.inf, np.float32)},
        {"true_rewards": np.zeros(4, np.float32)},
        {name: np.zeros((0, 3), np.float32) for name in ("observations", "actions", "states")},
    ],
)
def test_a_segment_with_contradictory_arrays_is_refused(arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="whole|infinite"):
        from_arrays(1, 7, {**to_arrays(segment(1)), **arrays})


def test_valid_answers_of_the_same_task_are_accepted(tmp_path: Path) -> None:
    session = session_with(tmp_path / "s", segment(1), replace(segment(2), true_rewards=np.zeros(5, np.float32)))
    with closing(session.store()) as store:
        store.add(query(9, disagreement=float("nan")), Choice.TIE, "oracle", (0.0, 1.0))
    run(session)
    pass_on(session)
    session.close()

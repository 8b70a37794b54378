"""Checkpoints: restored unchanged, the newest two kept, and damaged ones replaced."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from core.errors import UserError
from core.events import JobState
from core.io import tensor_file
from core.seeding import generator, get_rng_state
from core.session.checkpoint import UnreadableError, load_newest, save_checkpoint
from core.session.session import Session
from tests.core.builders import raising, tiny
from tests.core.session.damages import deep, flipped_bit


def states(number: int = 1) -> dict[str, JobState]:
    arrays = {
        "weights": np.full((2, 3), number, np.float32),
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "none": np.zeros((0, 4), np.float32),
        "alone": np.array(7, np.int64),
        "flags": np.array([True, False]),
    }
    values = {
        "number": number,
        "rng": get_rng_state(generator(number, "x")),
        "gap": float("nan"),
        "list": [[1, 2], [3, 4]],
    }
    return {"policy": JobState(arrays, values), "reward": JobState({}, {"owed": False})}


def number_of(loaded: tuple[int, dict[str, JobState]] | None) -> int:
    number, jobs = loaded
    assert jobs["policy"].values["number"] == number
    return number


def test_a_checkpoint_is_loaded_unchanged(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "c", 5, states(5))
    loaded = load_newest(tmp_path / "c")
    assert number_of(loaded) == 5 and loaded is not None
    original, policy = states(5)["policy"], loaded[1]["policy"]
    assert policy.arrays.keys() == original.arrays.keys()
    for name, array in original.arrays.items():
        assert np.array_equal(policy.arrays[name], array), name
        assert (policy.arrays[name].dtype, policy.arrays[name].shape) == (array.dtype, array.shape)
    assert policy.values["list"] == [[1, 2], [3, 4]] and np.isnan(policy.values["gap"])
    assert loaded[1]["reward"] == JobState({}, {"owed": False})


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    for number in (1, 2, 9, 10, 11):
        save_checkpoint(tmp_path, number, states(number))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["00000010.safetensors", "00000011.safetensors"]
    assert number_of(load_newest(tmp_path)) == 11


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def foreign(path: Path) -> None:
    path.write_bytes(save({"x": np.zeros(3)}))


def flipped_version(path: Path) -> None:
    """Flip one bit, from 2 to 3; the digest shows that the file is not from a newer program."""
    content = path.read_bytes()
    assert content.count(b'version\\": 2') == 1
    path.write_bytes(content.replace(b'version\\": 2', b'version\\": 3'))


def oversized_header(path: Path) -> None:
    path.write_bytes((10**15).to_bytes(8, "little") + path.read_bytes()[8:])


def long_header(path: Path) -> None:
    """Write a header of the claimed size, so long that parsing it would take gigabytes."""
    with open(path, "wb") as file:
        file.write((90 << 20).to_bytes(8, "little"))
        file.truncate(8 + (90 << 20))


def renamed(path: Path) -> None:
    path.rename(path.with_name("00000009.safetensors"))


DAMAGES = [
    *(cut_short, empty, foreign, flipped_bit, flipped_version),
    *(oversized_header, long_header, renamed, deep),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_replaced_by_the_previous_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    save_checkpoint(tmp_path, 1, states(1))
    damage(save_checkpoint(tmp_path, 2, states(2)))
    messages: list[str] = []
    with caplog.at_level(logging.WARNING):
        assert number_of(load_newest(tmp_path, messages.append)) == 1
    assert "is damaged" in caplog.text
    assert len(messages) == 1 and "00000001.safetensors" in messages[0]
    save_checkpoint(tmp_path, 2, states(2))  # the newest two are intact again
    assert sorted(p.name for p in tmp_path.iterdir()) == ["00000001.safetensors", "00000002.safetensors"]
    assert number_of(load_newest(tmp_path)) == 2


def test_a_checkpoint_too_large_to_load_is_not_written(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, states(1))
    vast = np.broadcast_to(np.zeros((), np.uint8), (600 << 20,))  # uses no memory
    with pytest.raises(UserError, match="600 MB"):
        save_checkpoint(tmp_path, 2, {"policy": JobState({"x": vast}, {})})
    assert number_of(load_newest(tmp_path)) == 1


def test_damage_to_all_checkpoints_is_reported(tmp_path: Path) -> None:
    for number in (1, 2):
        cut_short(save_checkpoint(tmp_path, number, states(number)))
    with pytest.raises(UnreadableError, match="trained again with all its answers"):
        load_newest(tmp_path)


def of_another_version(path: Path) -> Path:
    """Give the checkpoint a later version."""
    values, arrays = tensor_file.read(path, 1 << 20)
    path.write_bytes(tensor_file.as_file({**values, "version": 1000}, arrays))
    return path


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path) -> None:
    of_another_version(save_checkpoint(tmp_path, 1, states(1)))
    with pytest.raises(UnreadableError, match="version"):
        load_newest(tmp_path)


def test_a_session_without_a_usable_checkpoint_starts_from_its_answers_and_keeps_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "s" / "checkpoints"
    with closing(Session.create(tmp_path / "s", tiny())) as session:
        path, messages = of_another_version(save_checkpoint(folder, 7, states(7))), list[str]()
        content = path.read_bytes()
        assert session.resume(messages.append) == (0, {})
        assert len(messages) == 1 and "all answers" in messages[0]
        assert session.resume(messages.append) == (0, {}) and len(messages) == 1
        session.save(1, states(1))
        assert number_of(session.load()) == 1
        assert [other.read_bytes() for other in folder.glob("*.unreadable")] == [content]


def test_a_failing_disk_is_not_taken_for_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path / "c", 1, states(1))
    monkeypatch.setattr("core.io.files.read_regular", raising(OSError(errno.EIO, os.strerror(errno.EIO))))
    with pytest.raises(UserError, match="No checkpoint in .* can be read") as refused:
        load_newest(tmp_path / "c")
    assert not isinstance(refused.value, UnreadableError) and "delete" not in str(refused.value)

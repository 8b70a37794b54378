from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core import checkpoint
from core.checkpoint import load_newest, save_checkpoint, write_atomically
from core.errors import UserError
from core.events import JobState
from core.seeding import generator, restored, saved


def states(number: int = 1) -> dict[str, JobState]:
    arrays = {
        "weights": np.full((2, 3), number, np.float32),
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "none": np.zeros((0, 4), np.float32),
        "alone": np.array(7, np.int64),
        "flags": np.array([True, False]),
    }
    values = {"number": number, "rng": saved(generator(number, "x")), "gap": float("nan"), "list": [[1, 2], [3, 4]]}
    return {"policy": JobState(arrays, values), "reward": JobState({}, {"owed": False})}


def number_of(loaded: tuple[int, dict[str, JobState]] | None) -> int:
    assert loaded is not None
    number, jobs = loaded
    assert jobs["policy"].values["number"] == number
    return number


def test_all_comes_back_as_it_was(tmp_path: Path) -> None:
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


def test_a_random_generator_goes_on_where_it_was(tmp_path: Path) -> None:
    rng = generator(3, "x")
    rng.random(10)
    save_checkpoint(tmp_path / "c", 1, {"job": JobState({}, {"rng": saved(rng)})})
    loaded = load_newest(tmp_path / "c")
    assert loaded is not None
    other = generator(99, "y")
    restored(other, loaded[1]["job"].values["rng"])
    assert (other.random(5) == rng.random(5)).all()


def test_without_any_there_is_none(tmp_path: Path) -> None:
    assert load_newest(tmp_path / "c") is None


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    for number in (1, 2, 9, 10, 11):
        save_checkpoint(tmp_path, number, states(number))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["00000010.safetensors", "00000011.safetensors"]
    assert number_of(load_newest(tmp_path)) == 11


def test_half_a_file_left_by_a_crash_is_ignored(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, states(1))
    (tmp_path / "00000002.safetensors.part").write_bytes(path.read_bytes()[:100])
    assert number_of(load_newest(tmp_path)) == 1
    save_checkpoint(tmp_path, 2, states(2))
    assert number_of(load_newest(tmp_path)) == 2


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def foreign(path: Path) -> None:
    from safetensors.numpy import save

    path.write_bytes(save({"x": np.zeros(3)}))


@pytest.mark.parametrize("damage", [cut_short, empty, foreign])
def test_a_damaged_one_gives_way_to_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: object
) -> None:
    save_checkpoint(tmp_path, 1, states(1))
    newest = save_checkpoint(tmp_path, 2, states(2))
    damage(newest)  # type: ignore[operator]
    with caplog.at_level(logging.WARNING):
        assert number_of(load_newest(tmp_path)) == 1
    assert newest.name in caplog.text and "damaged" in caplog.text


def test_when_all_are_damaged_it_says_so(tmp_path: Path) -> None:
    for number in (1, 2):
        empty(save_checkpoint(tmp_path, number, states(number)))
    with pytest.raises(UserError, match="answers can be reused"):
        load_newest(tmp_path)


def test_another_versions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_VERSION", 1000)
    save_checkpoint(tmp_path, 1, states(1))
    monkeypatch.undo()
    with pytest.raises(UserError, match="version"):
        load_newest(tmp_path)


def test_it_holds_no_pickle(tmp_path: Path) -> None:
    content = save_checkpoint(tmp_path, 1, states(1)).read_bytes()
    header = int.from_bytes(content[:8], "little")
    assert content[8:9] == b"{" and content[8 + header - 1 : 8 + header].strip() in (b"}", b"")
    assert b"numpy" not in content and b"core.events" not in content


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.checkpoint.os.fsync", no_room)
    with pytest.raises(UserError, match="No space left"):
        write_atomically(path, b"new and longer")
    assert path.read_bytes() == b"old"


def test_where_no_checkpoint_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("in the way")
    with pytest.raises(UserError, match="can't be written"):
        save_checkpoint(tmp_path / "c", 1, states())


def test_the_window_loads_checkpoints_without_torch() -> None:
    root = Path(__file__).resolve().parents[2]
    code = "import sys, core.session; sys.exit('torch' in sys.modules or 'mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0

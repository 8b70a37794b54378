"""Earlier policies: selection, durability, and the message about damaged ones."""

from __future__ import annotations

import logging
import math
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.errors import UserError
from core.session import policy_snapshots
from core.session.archive import export_session, import_session
from core.session.policy_snapshots import PolicySnapshots, SnapshotInfo, thinned
from core.session.session import Session
from tests.core.builders import tiny
from tests.core.session.damages import deep, flipped_bit


def info(steps: int, labels: int = 3, seconds: float = 60.0, measure: float = 0.5) -> SnapshotInfo:
    return SnapshotInfo(steps, labels, seconds, measure)


def weights(number: int) -> dict[str, np.ndarray]:
    return {"weights": np.full(50, number, np.float32), "mean": np.zeros(3, np.float32)}


def filled(session: Path, *steps: int) -> PolicySnapshots:
    made = PolicySnapshots(session)
    for number in steps:
        made.add(info(number), weights(number), always=True)
    return made


def test_a_snapshot_is_loaded_unchanged(tmp_path: Path) -> None:
    made = PolicySnapshots(tmp_path)
    assert made.add(info(0, 0, 0.0, math.nan), weights(0)) and made.add(info(1200, 12, 181.5, 0.4), weights(7))
    again = PolicySnapshots(tmp_path)
    assert again.infos()[1] == SnapshotInfo(1200, 12, 181.5, 0.4)
    assert math.isnan(again.infos()[0].measure)
    known, loaded = again.load(1200)
    assert known == SnapshotInfo(1200, 12, 181.5, 0.4)
    assert loaded.keys() == weights(7).keys() and all((loaded[name] == a).all() for name, a in weights(7).items())
    assert [path.name for path in again.files()] == ["000000000000.safetensors", "000000001200.safetensors"]
    assert again.seconds() == 181.5 and PolicySnapshots(tmp_path / "new").seconds() == 0.0


def test_snapshots_are_due_at_intervals_that_grow_with_the_steps(tmp_path: Path) -> None:
    made = PolicySnapshots(tmp_path, min_steps=100)
    taken = [steps for steps in range(0, 8000, 50) if made.add(info(steps), weights(0))]
    assert taken[:4] == [0, 100, 200, 300] and taken[30:34] == [3000, 3100, 3250, 3400]
    assert made.next_due() == taken[-1] + math.ceil(taken[-1] / 30)


@pytest.mark.parametrize(
    ("steps", "limit", "left"),
    [
        ([0, 1, 2], 3, [0, 1, 2]),
        ([0, 1, 2, 3], 3, [0, 2, 3]),
        ([0, 1, 2, 3, 4, 5], 4, [0, 2, 4, 5]),
        ([0, 10, 11, 30], 3, [0, 11, 30]),
        ([0, 5, 9, 100], 0, [0, 100]),
    ],
)
def test_the_most_redundant_snapshot_is_dropped(steps: list[int], limit: int, left: list[int]) -> None:
    assert thinned(steps, limit) == left


@pytest.mark.parametrize("limits", [{"limit": 8}, {"max_total_bytes": 100}], ids=["many", "large"])
def test_a_fixed_number_is_kept_evenly_with_the_first_and_the_newest(tmp_path: Path, limits: dict[str, int]) -> None:
    made = PolicySnapshots(tmp_path, **limits)
    for steps in range(0, 600, 20):
        made.add(info(steps), weights(0), always=True)
    kept = made.env_steps()
    assert len(kept) == 8 and kept[0] == 0 and kept[-1] == 580
    gaps = np.diff(kept)
    assert gaps[:-1].max() <= 2 * gaps[:-1].min()


def test_an_export_made_while_a_snapshot_is_added_can_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.create(tmp_path / "s", tiny())
    made = filled(session.folder, *range(0, 100 * policy_snapshots.KEPT, 100))
    write = policy_snapshots.write_atomically

    def write_and_export(path: Path, content: bytes) -> None:
        write(path, content)
        export_session(session, tmp_path / "s.somersault")

    monkeypatch.setattr(policy_snapshots, "write_atomically", write_and_export)
    made.add(info(100 * policy_snapshots.KEPT), weights(0), always=True)
    session.close()
    import_session(tmp_path / "s.somersault", tmp_path / "again")
    assert len(PolicySnapshots(tmp_path / "again").env_steps()) == policy_snapshots.KEPT


def lying(path: Path) -> None:
    path.rename(path.with_name("000000000150.safetensors"))


@pytest.mark.parametrize("damage", [flipped_bit, deep, lying])
def test_a_damaged_snapshot_is_left_out_with_a_sentence(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    made = filled(tmp_path, 0, 100, 200)
    damage(made.files()[1])
    messages: list[str] = []
    with caplog.at_level(logging.WARNING):
        assert [known.env_steps for known in made.infos(messages.append)] == [0, 200]
    assert "is damaged" in caplog.text
    assert len(messages) == 1 and messages[0].startswith("One earlier policy is damaged")
    with pytest.raises(UserError, match="choose another one"):
        made.load(made.env_steps()[1])


def test_a_missing_snapshot_is_refused_without_its_path(tmp_path: Path) -> None:
    made = filled(tmp_path, 0)
    with pytest.raises(UserError, match=r"after 100 steps can't be read \(No such file or directory\): choose another"):
        made.load(100)


@pytest.mark.parametrize("value", [-1, 1.5, "many", None, 10**30])
def test_an_intact_snapshot_with_an_impossible_value_is_left_out(tmp_path: Path, value: object) -> None:
    made = filled(tmp_path, 0)
    made.add(SnapshotInfo(100, value, 1.0, 0.0), weights(1), always=True)
    assert [known.env_steps for known in made.infos()] == [0]
    assert made.seconds() == 60.0


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    session = Session.create(tmp_path / "s", tiny())
    session.store().close()
    filled(session.folder, *range(0, 6000, 100))
    export_session(session, tmp_path / "shared.somersault")
    session.close()
    return tmp_path / "shared.somersault"


def test_an_exported_session_contains_the_snapshots(packed: Path, tmp_path: Path) -> None:
    import_session(packed, tmp_path / "back")
    again = PolicySnapshots(tmp_path / "back")
    assert again.env_steps() == list(range(0, 6000, 100))
    assert again.load(5900)[1]["weights"][0] == 5900


def test_an_export_with_too_many_snapshots_is_refused(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("policies/000000009999.safetensors", b"x")
    with pytest.raises(UserError, match="too many"):
        import_session(packed, tmp_path / "back")

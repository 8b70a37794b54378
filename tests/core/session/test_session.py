"""Sessions: folders that only one program may open at a time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.config import Config, replaced
from core.errors import UserError
from core.events import (
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    PolicyPublished,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    QueryOffered,
    RewardPublished,
)
from core.headless.lockstep import LocalPort
from core.service_events import ClipsRequested
from core.session.policy_snapshots import SnapshotInfo
from core.session.routing import deliver
from core.session.session import Session
from core.types import Choice
from tests.core.builders import one_sentence, preference, query, tiny
from tests.core.played import turn
from tests.screens import ROOT, running


def test_a_session_is_never_created_over_existing_files(tmp_path: Path) -> None:
    Session.create(tmp_path / "s", tiny()).close()
    for folder, expected in ((tmp_path / "s", "--resume"), (tmp_path, "not an empty folder")):
        with pytest.raises(UserError, match=expected):
            Session.create(folder, tiny())
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("content", [None, "", "not json", "[1, 2]", '{"nothing": 1}', '{"seed": -1}', "\xff\xfe"])
def test_a_folder_without_a_session_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content, encoding="latin-1")
    with pytest.raises(UserError) as refused:
        Session.open(tmp_path)
    one_sentence(refused.value)


HOLDER = """
import sys
from pathlib import Path
from core.session.session import Session
session = Session.open(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_session_open_elsewhere_is_one_sentence_and_a_dead_program_holds_no_lock(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    Session.create(folder, tiny()).close()
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError) as refused:
            Session.open(folder)
        assert "open in another Somersault" in one_sentence(refused.value)
        holder.kill()
    Session.open(folder).close()


class Listening:
    def __init__(self) -> None:
        self.heard: list[Event] = []

    def send(self, event: Event) -> None:
        self.heard.append(event)


def hearers(event: Event) -> set[str]:
    ports = {name: Listening() for name in ("rollout", "reward", "policy", "clips", "snapshots")}
    deliver(event, ports)
    assert all([type(heard) for heard in port.heard] in ([], [type(event)]) for port in ports.values())
    return {name for name, port in ports.items() if port.heard}


@pytest.mark.parametrize(
    ("event", "jobs"),
    [
        (PolicyPublished(1, {}), {"rollout", "reward", "snapshots"}),
        (RewardPublished({}), {"rollout", "policy", "clips"}),
        (PreferenceAdded(preference(1)), {"reward", "rollout"}),
        (PreferenceAdded(preference(2, pair=replace(query(1), repeats=1))), set()),
        (PreferenceWithdrawn(1), {"reward", "rollout"}),
        (AnswersReplayed(), {"reward", "rollout"}),
        (ClipsRequested(1, (), 8, 30.0), {"clips"}),
        (QueryOffered(query(1)), set()),
    ],
)
def test_each_event_reaches_the_jobs_that_need_it(event: Event, jobs: set[str]) -> None:
    assert hearers(event) == jobs


@pytest.mark.parametrize("kind", [PreferenceAdded, PreferenceChanged])
def test_the_rollout_receives_answers_without_segments(kind: type[PreferenceAdded | PreferenceChanged]) -> None:
    ports = {"rollout": Listening(), "reward": Listening()}
    given = kind(preference(7, Choice.TIE, query(3)))
    deliver(given, ports)
    assert ports["reward"].heard == [given]
    (heard,) = ports["rollout"].heard
    assert isinstance(heard, kind)
    counted = heard.preference
    assert (counted.id, counted.query.id, counted.choice) == (7, 3, Choice.TIE)
    assert counted.query.left.length == counted.query.right.length == 0


def test_with_damaged_checkpoints_the_earlier_policies_are_set_aside_too(tmp_path: Path) -> None:
    session, sentences = Session.create(tmp_path / "s", tiny()), list[str]()
    for steps in (0, 5_000):
        session.snapshots().add(SnapshotInfo(steps, 0, 0.0, 0.0), {"x": np.ones(3)}, always=True)
    before = {path.stem: path.read_bytes() for path in session.snapshots().files()}
    session.save(1, {"policy": JobState({}, {})})
    (session.folder / "checkpoints" / "00000001.safetensors").write_bytes(b"damaged")
    assert session.resume(sentences.append) == (0, {})
    (sentence,) = sentences
    assert "checkpoints and earlier policies were set aside" in sentence
    assert session.snapshots().add(SnapshotInfo(0, 0, 0.0, 0.0), {"x": np.zeros(3)})
    aside = (session.folder / "policies").glob("*.unreadable")
    assert {path.stem.removesuffix("-1"): path.read_bytes() for path in aside} == before
    (session.folder / "checkpoints" / "00000001.safetensors").write_bytes(b"damaged again")
    session.resume(sentences.append)
    checkpoints = {path.name: path.read_bytes() for path in (session.folder / "checkpoints").iterdir()}
    assert checkpoints == {"00000001-1.unreadable": b"damaged", "00000001-2.unreadable": b"damaged again"}
    assert {"000000000000-1.unreadable", "000000000000-2.unreadable"} < {
        path.name for path in (session.folder / "policies").iterdir()
    }
    session.close()


def test_without_checkpoints_the_trained_policies_are_set_aside(tmp_path: Path) -> None:
    """A person may have moved the checkpoints away."""
    session, sentences = Session.create(tmp_path / "s", tiny()), list[str]()
    for steps, seconds in ((0, 0.0), (5_000, 15.0)):
        session.snapshots().add(SnapshotInfo(steps, 0, seconds, 0.0), {"x": np.ones(3)}, always=True)
    assert session.resume(sentences.append) == (0, {}) and not sentences  # a crash before the first checkpoint
    assert session.snapshots().env_steps() == [0, 5_000]
    session.snapshots().add(SnapshotInfo(90_000, 0, 100.0, 0.0), {"x": np.ones(3)}, always=True)
    assert session.resume(sentences.append) == (0, {}) and "earlier policies were set aside" in sentences[0]
    assert session.snapshots().env_steps() == []
    assert len(list((session.folder / "policies").glob("*.unreadable"))) == 3
    session.close()


def test_files_of_another_version_are_described_in_the_users_words(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"colour": 1}')
    with pytest.raises(UserError, match="unknown setting 'colour'.*the version that wrote them"):
        Session.open(tmp_path)


@pytest.mark.parametrize("setting", ["reward.novelty", "reward.sparsity"])
def test_a_gymnasium_game_of_pictures_is_refused_before_anything_is_created(setting: str, tmp_path: Path) -> None:
    config = replaced(Config(task="pong"), **{setting: 1, "rollout.environments": 2})
    with pytest.raises(UserError, match=f"^pong has image observations.*set {setting}=0"):
        Session.create(tmp_path / "s", config)
    assert not (tmp_path / "s").exists()


def test_a_reward_fitted_but_not_received_before_a_kill_is_sent_again(tmp_path: Path) -> None:
    """The state of the rollout is from before the fit, so that it would wait for another answer."""
    config = tiny(labels=4)
    session = Session.create(tmp_path / "s", config)
    unfitted = LocalPort(JobSpec("rollout", config.to_dict()), 1).state()
    reward = LocalPort(JobSpec("reward", config.to_dict()), 1)
    answers = [*(PreferenceAdded(preference(number)) for number in range(4)), AnswersReplayed()]
    (first,) = turn(reward, *answers)
    session.save(1, {"rollout": unfitted, "reward": reward.state()})
    restored = LocalPort(JobSpec("reward", config.to_dict(), session.resume()[1]["reward"]), 1)
    (again,) = turn(restored, *answers)
    assert all(np.array_equal(again.weights[name], array) for name, array in first.weights.items())
    assert turn(restored) == []
    session.close()


def test_a_reward_without_its_generation_is_refused_in_one_sentence(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "s", tiny(labels=4))
    session.save(1, {"reward": JobState({}, {})})
    _, states = session.resume()
    with pytest.raises(UserError, match="^The checkpoint does not fit the reward stage of this session"):
        LocalPort(JobSpec("reward", session.config.to_dict(), states["reward"]), 1)
    session.close()

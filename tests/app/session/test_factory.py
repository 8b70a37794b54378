from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from app.command_line import parsed
from app.session.controller import _for_window
from app.session.factory import fresh_folder, new_config, opened, session_config
from core.errors import UserError
from core.preferences.schedule import scheduled
from core.session.session import Session
from core.system import resources
from core.tasks import get_task
from core.types import Choice
from tests.core.builders import query


@pytest.mark.parametrize("teacher", ["human", "oracle"])
def test_a_session_in_the_window_has_no_end(teacher: str) -> None:
    assert new_config(parsed(["--teacher", teacher])).steps > 10**9


def test_its_labels_are_due_over_the_steps_of_the_task() -> None:
    config = new_config(parsed(["--labels", "50"]))
    assert config.query.horizon == get_task("hopper-backflip").presets["steps"]
    assert scheduled(config.query.horizon, config) == 50


def test_pong_has_its_labels_asked_before_the_steps_of_the_task_are_over() -> None:
    config = new_config(parsed(["--task", "pong"]))
    assert config.query.horizon == get_task("pong").presets["query.horizon"] < get_task("pong").presets["steps"]
    assert scheduled(config.query.horizon, config) == config.labels


@pytest.mark.parametrize(("labels", "first"), [(20, 6), (700, 30), (100, 30), (1000, 30)])
def test_training_starts_after_thirty_answers_at_most(labels: int, first: int) -> None:
    assert new_config(parsed(["--labels", str(labels)])).query.first_labels == first


@pytest.mark.parametrize(("task", "falls"), [("reacher", False), ("pong", True)])
def test_in_a_window_the_step_size_falls_only_where_learning_takes_hours(task: str, falls: bool) -> None:
    assert get_task(task).presets["policy.decay"] > 0
    assert (session_config(task).policy.decay > 0) == falls
    assert session_config(task, {"policy.decay": 0.5}).policy.decay == 0.5


def test_what_was_given_is_in_the_config() -> None:
    config = new_config(parsed(["--labels", "40", "--seed", "7"]))
    assert (config.labels, config.seed, config.teacher) == (40, 7, "human")


def test_sessions_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.factory.user_data_dir", lambda *_, **__: str(tmp_path))
    first = fresh_folder("hopper-backflip")
    assert first == tmp_path / "sessions" / "hopper-backflip-1"
    opened(parsed([])).close()
    assert fresh_folder("hopper-backflip").name == "hopper-backflip-2"


def test_an_existing_session_is_opened_with_its_own_numbers(tmp_path: Path) -> None:
    opened(parsed(["--session", str(tmp_path / "s"), "--labels", "33"])).close()
    session = opened(parsed(["--session", str(tmp_path / "s")]))
    assert session.config.labels == 33
    session.close()


def test_a_refused_session_is_left_unlocked(tmp_path: Path) -> None:
    opened(parsed(["--session", str(tmp_path / "s")])).close()
    with pytest.raises(UserError, match="made with --seed 0"):
        opened(parsed(["--session", str(tmp_path / "s"), "--seed", "1"]))
    opened(parsed(["--session", str(tmp_path / "s")])).close()


def test_a_session_with_the_answers_to_another_task_is_refused_and_left_unlocked(tmp_path: Path) -> None:
    session = opened(parsed(["--session", str(tmp_path / "s"), "--task", "walker"]))
    with closing(session), closing(session.store()) as store:
        store.add(query(1), Choice.LEFT, "human")
    with pytest.raises(UserError, match="Answer 1 is none to the task walker .it shows 12 numbers a step and not 17"):
        opened(parsed(["--session", str(tmp_path / "s")]))
    Session.open(tmp_path / "s").close()


def test_a_game_in_the_window_asks_for_more_memory_new_or_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(parsed(["--session", str(tmp_path / "kept"), "--task", "pong"])).close()
    monkeypatch.setattr(resources, "free_memory", lambda _: 1_900_000_000)
    opened(parsed(["--session", str(tmp_path / "robot")])).close()
    for folder in ("kept", "new"):
        with pytest.raises(UserError, match=r"^Only 1\.9 GB of memory are free and 2\.0 GB are needed"):
            opened(parsed(["--session", str(tmp_path / folder), "--task", "pong"]))
    assert not (tmp_path / "new").exists()
    Session.open(tmp_path / "kept").close()  # it is not locked


@pytest.mark.parametrize(("task", "given", "pool"), [("pong", 1024, 256), ("pong", 100, 100), ("walker", 1024, 1024)])
def test_where_clips_must_be_filmed_the_pool_holds_no_more_than_the_latest(task: str, given: int, pool: int) -> None:
    config = session_config(task, {"query.pool": given})
    taught = _for_window(config)
    assert (config.query.pool, taught.query.pool) == (given, pool)
    assert taught.rollout.captured_envs == 4

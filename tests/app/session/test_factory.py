"""Sessions created for the window: their config, their folder, and refusals."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.command_line import parsed
from app.session.factory import (
    create_session,
    new_config,
    open_or_create,
    session_config,
    sessions_folder,
    start_over,
    window_config,
)
from core.config import Config, replaced
from core.errors import UserError
from core.events import JobState
from core.preferences.schedule import scheduled
from core.presets import DEFAULT
from core.session.session import Session
from core.session.taking import Beginning
from core.system import resources
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import task_text
from core.types import Choice
from tests.app.start_page_driver import practice_pair
from tests.core.builders import query


def test_a_session_of_a_robot_has_the_default_settings_and_no_end() -> None:
    config = new_config(parsed(["--seed", "7", "--teacher", "oracle"]))
    assert (config.seed, config.teacher, config.query.ready) == (7, "oracle", 2)
    assert config.steps > 10**9 and config.labels >= 10_000
    shown = {name: getattr(getattr(config, name.split(".")[0]), name.split(".")[1]) for name in DEFAULT}
    assert shown == DEFAULT and config.policy.initial_std == get_task(config.task).exploration_std
    due = [scheduled(steps, config) for steps in (0, 20_000, 200_000)]
    assert due == [22, 23, 32]


def test_a_game_keeps_its_presets_with_its_labels_due_over_its_steps() -> None:
    assert new_config(parsed(["--task", "pong"])).query.first_labels == 30
    config = new_config(parsed(["--task", "pong", "--labels", "50"]))
    assert config.query.horizon <= get_task("pong").presets["steps"] < config.steps
    assert config.query.schedule == "paper" and scheduled(config.query.horizon, config) == 50


@pytest.mark.parametrize(("task", "given", "pool"), [("pong", 1024, 256), ("pong", 100, 100), ("walker", 1024, 1024)])
def test_tasks_with_captured_clips_get_a_small_pool(task: str, given: int, pool: int) -> None:
    config = session_config(task, {"query.pool": given})
    in_window = window_config(config)
    assert (config.query.pool, in_window.query.pool) == (given, pool)
    assert in_window.rollout.captured_envs == 4


@pytest.mark.parametrize(
    ("task", "algorithm", "lag"),
    [
        ("walker", "ppo", 1),
        ("walker", "trpo", 0),
        ("walker", "a2c", 0),
        ("walker", "sac", 1),
        ("pong", "ppo", 1),
        ("pong", "a2c", 0),
    ],
)
def test_ppo_and_sac_train_one_batch_behind_the_rollout(task: str, algorithm: str, lag: int) -> None:
    assert window_config(session_config(task, {"policy.algorithm": algorithm})).policy.lag == lag


def test_new_sessions_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for number in (1, 2):
        with closing(open_or_create(parsed([]))) as session:
            assert session.folder == sessions_folder() / f"hopper-backflip-{number}"
    assert sessions_folder().is_relative_to(tmp_path)


def test_an_existing_session_keeps_its_config_and_a_refused_one_is_not_locked(tmp_path: Path) -> None:
    open_or_create(parsed(["--session", str(tmp_path / "s"), "--labels", "33"])).close()
    with pytest.raises(UserError, match="made with --seed 0"):
        open_or_create(parsed(["--session", str(tmp_path / "s"), "--seed", "1"]))
    with closing(open_or_create(parsed(["--session", str(tmp_path / "s")]))) as session:
        assert session.config.labels == 33


def test_a_session_with_the_answers_to_another_task_is_refused_and_not_locked(tmp_path: Path) -> None:
    session = open_or_create(parsed(["--session", str(tmp_path / "s"), "--task", "walker"]))
    with closing(session), closing(session.store()) as store:
        store.add(query(1), Choice.LEFT, "human")
    with pytest.raises(UserError, match="(?i)answer 1 .*walker"):
        open_or_create(parsed(["--session", str(tmp_path / "s")]))
    Session.open(tmp_path / "s").close()


def test_a_game_needs_more_memory_new_or_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_or_create(parsed(["--session", str(tmp_path / "kept"), "--task", "pong"])).close()
    monkeypatch.setattr(resources, "free_memory", lambda _: 2_600_000_000)
    open_or_create(parsed(["--session", str(tmp_path / "robot")])).close()
    for folder in ("kept", "new"):
        with pytest.raises(UserError, match=r"2\.7 GB is needed"):
            open_or_create(parsed(["--session", str(tmp_path / folder), "--task", "pong"]))
    assert not (tmp_path / "new").exists()
    Session.open(tmp_path / "kept").close()  # it is not locked


def test_a_session_of_an_environment_keeps_its_rate_and_is_continued_by_its_name(tmp_path: Path) -> None:
    folder = str(tmp_path / "s")
    with closing(open_or_create(parsed(["--task", "gym:Pendulum-v1", "--session", folder]))) as session:
        assert session.config.task == "gym:Pendulum-v1@30"
        assert window_config(session.config).query.pool == 256  # pictures take memory
    open_or_create(parsed(["--task", "gym:Pendulum-v1", "--session", folder])).close()
    for other in ("gym:CartPole-v1", "gym:Pendulum-v1@20", "gym:Nowhere-v0"):
        with pytest.raises(UserError, match="made with --task gym:Pendulum-v1@30: leave out --task"):
            open_or_create(parsed(["--task", other, "--session", folder]))


def test_a_session_without_a_control_rate_is_continued_by_its_name_and_by_its_file(tmp_path: Path) -> None:
    values = {"name": "swing", "robot": "gym:Pendulum-v1", "title": "Swing", "instruction": "Up?", "clip_seconds": 1.0}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(values))
    for word, task in (("gym:Pendulum-v1", "gym:Pendulum-v1"), (str(file), task_text(str(file)))):
        folder = tmp_path / Path(word).stem
        Session.create(folder, session_config(task)).close()
        with closing(open_or_create(parsed(["--task", word, "--session", str(folder)]))) as session:
            assert session.config.task == task


@pytest.mark.parametrize(("seconds", "most"), [(1, 256), (3, 145), (10, 43)])
def test_a_pool_of_long_clips_of_pictures_has_fewer_of_them(seconds: float, most: int) -> None:
    values = {"name": "leap", "robot": "gym:Hopper-v5@125", "title": "Leap", "instruction": "Up?"}
    config = session_config(json.dumps({**values, "clip_seconds": seconds}))
    assert window_config(config).query.pool == most and window_config(session_config("hopper")).query.pool == 1024


def test_a_session_of_a_behaviour_file_keeps_its_text_and_is_continued_by_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    camera = {"azimuth": 30, "elevation": 20, "distance": 5}
    values = {"name": "crouch", "robot": "walker", "title": "Crouching", "instruction": "Which one is lower?"}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({**values, "clip_seconds": 1, "camera": camera}))
    with closing(open_or_create(parsed(["--task", str(file)]))) as session:
        assert session.folder.name == "crouch-1"
        task = get_task(session.config.task)
    assert (task.title, task.segment_steps) == ("Crouching", 30)
    assert isinstance(task, RobotTask) and (task.camera.azimuth, task.camera.distance) == (30, 5)
    open_or_create(parsed(["--task", str(file), "--session", str(session.folder)])).close()
    file.unlink()
    open_or_create(parsed(["--session", str(session.folder)])).close()
    with pytest.raises(UserError, match="made with --task crouch"):
        open_or_create(parsed(["--task", "walker", "--session", str(session.folder)]))
    file.write_text(json.dumps({**values, "clip_seconds": 1, "start": "sitting"}))
    with pytest.raises(UserError, match=r"mine.json is invalid: start is \"sitting\""):
        open_or_create(parsed(["--task", str(file)]))


def started_over(folder: Path, config: Config, *labellers: str) -> Config:
    """Return the config with which a session starts over that has an answer of each of these labellers."""
    task = get_task(config.task)
    sized = replace(task, sizes=task.sizes or (3, 1))  # those of an environment are not known in the window
    with closing(Session.create(folder / "old", config)) as old, closing(old.store()) as store:
        for number, labeller in enumerate(labellers):
            store.add(practice_pair(sized, number), Choice.LEFT, labeller)
    with closing(start_over(folder / "old", folder)) as new:
        return new.config


def test_starting_over_keeps_what_was_set_and_takes_another_seed_and_optimizer(tmp_path: Path) -> None:
    old = session_config("reacher", {"policy.discount": 0.95, "reward.members": 3, "query.rest": 7})
    new = started_over(tmp_path, old, "human", "human")
    assert new.seed != old.seed and (new.query.taken, new.labels) == (2, old.labels + 2)
    assert new.reward == old.reward and replaced(new, query__taken=0).query == old.query
    assert new.policy == replaced(session_config("reacher", {"policy.algorithm": "sac"}), policy__discount=0.95).policy


@pytest.mark.parametrize(("planned", "newest"), [("human", "oracle"), ("oracle", "human")])
def test_who_taught_last_teaches_after_starting_over(tmp_path: Path, planned: str, newest: str) -> None:
    assert started_over(tmp_path, session_config("reacher", {"teacher": planned}), planned, newest).teacher == newest


@pytest.mark.parametrize("optimizer", ["sac", "trpo"])
def test_an_optimizer_other_than_ppo_stays_when_starting_over(tmp_path: Path, optimizer: str) -> None:
    old = session_config("walker", {"policy.algorithm": optimizer, "policy.discount": 0.95})
    assert started_over(tmp_path, old, "human").policy == old.policy


@pytest.mark.parametrize(
    ("parts", "changes", "optimizer"),
    [({"policy"}, {}, "sac"), ({"answers"}, {}, "ppo"), ({"policy", "answers"}, {"policy.discount": 0.95}, "sac")],
)
def test_a_session_that_begins_with_a_policy_has_its_optimizer(
    tmp_path: Path, parts: set[str], changes: dict[str, float], optimizer: str
) -> None:
    old, task = session_config("walker", {"policy.algorithm": "sac"}), get_task("walker")
    with closing(Session.create(tmp_path / "old", old)) as session, closing(session.store()) as store:
        store.add(practice_pair(task, 0), Choice.LEFT, "human")
        session.save(1, {"policy": JobState({}, {})})
    beginning = Beginning(tmp_path / "old", frozenset(parts))
    with closing(create_session(tmp_path / "new", session_config("walker", changes), beginning)) as new:
        assert new.config.policy == session_config("walker", {"policy.algorithm": optimizer, **changes}).policy


def test_an_old_session_of_an_environment_starts_over_at_its_rate_with_its_optimizer(tmp_path: Path) -> None:
    old = session_config("gym:Pendulum-v1")
    new = started_over(tmp_path, old, "human")
    assert (new.task, new.policy) == (old.task, old.policy)

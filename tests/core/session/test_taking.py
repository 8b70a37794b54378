"""Sessions that begin with answers, reward or policy of another one, created on the command line."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.__main__ import make_parser
from core.api import LearnedReward, environment, policy
from core.config import Config, replaced
from core.errors import UserError
from core.events import (
    AnswersReplayed,
    Event,
    JobSpec,
    PolicyPublished,
    PreferenceAdded,
    RewardFitted,
    RewardPublished,
    Waited,
)
from core.headless.run import HeadlessRun
from core.headless.teach import new_session
from core.jobs import build
from core.portable.export import export_onnx
from core.preferences.schedule import scheduled
from core.session.checkpoint import CHECKPOINTS, load_newest
from core.session.session import Session, read_config
from core.session.taking import same_body
from core.tasks import CATALOGUE, behaviours
from core.tasks.base import RobotTask
from core.types import Choice
from tests.core.builders import BEHAVIOUR, SETTINGS, raising

Run = Callable[..., Any]
SMALL = ["--steps", str(8 * 32 * 6), *SETTINGS, "--set", "query.first_labels=2"]


def test_behaviours_that_ship_for_one_robot_can_begin_from_each_other() -> None:
    tasks = [task for task in (*CATALOGUE.values(), *behaviours().values()) if isinstance(task, RobotTask)]
    for old, new in itertools.product(tasks, tasks):
        assert same_body(old, new) == (old.robot == new.robot), (old.name, new.name)
    games = CATALOGUE["enduro"], CATALOGUE["enduro-even"], CATALOGUE["pong"]
    assert [same_body(old, new) for old, new in itertools.combinations(games, 2)] == [True, False, False]


def behaviour(name: str, robot: str = "pendulum", folder: Path = Path(), **fields: Any) -> str:
    values = {**BEHAVIOUR, "name": name, "robot": robot, "clip_seconds": 1}
    (folder / f"{name}.json").write_text(json.dumps({**values, "oracle": "-height[cpole]", **fields}))
    return str(folder / f"{name}.json")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a behaviour file and a session that was taught this behaviour."""
    folder = tmp_path_factory.mktemp("taught")
    words = ["teach", behaviour("low", folder=folder), "--labels", "4", "--session", str(folder / "old"), *SMALL]
    session = new_session(make_parser().parse_args(words))
    with closing(session), closing(HeadlessRun(session, lambda event: None, threads=1)) as run:
        run.run()
    return folder


@pytest.fixture
def source(taught: Path) -> Path:
    shutil.copytree(taught, Path(), dirs_exist_ok=True)
    return Path("old")


def begun(*words: str) -> tuple[Session, list[Event]]:
    """Return the new session, and the events of its first cycles."""
    session = new_session(make_parser().parse_args(["teach", *words, "--session", "new", *SMALL]))
    events: list[Event] = []
    with closing(session), closing(HeadlessRun(session, events.append, threads=1)) as run:
        for _ in range(2):
            run.cycle()
    return session, events


def first(events: list[Event], kind: type) -> Any:
    return next(event for event in events if isinstance(event, kind))


def test_another_behaviour_begins_with_the_policy_and_the_reward(source: Path) -> None:
    high = behaviour("high", oracle="height[cpole]")
    loaded = load_newest(source / CHECKPOINTS)
    session, events = begun(
        high, "--from", "old", "--take", "reward, policy", "--labels", "3", "--seed", "7", "--set", "reward.l2=0.05"
    )
    policy, reward = loaded[1]["policy"].arrays, loaded[1]["reward"].under("ensemble_")
    published = first(events, PolicyPublished)
    assert (published.version, published.env_steps) == (0, 0)
    assert all(np.array_equal(array, policy[name]) for name, array in published.weights.items())
    assert all(np.array_equal(array, reward[name]) for name, array in first(events, RewardPublished).weights.items())
    assert session.config.labels == 3 and session.config.seed == 7
    loaded = session.load()
    assert loaded and loaded[1]["reward"].arrays["l2"] == pytest.approx(0.05)
    assert [event.preference.id for event in events if isinstance(event, PreferenceAdded)][:1] == [1]  # its own


def test_a_policy_of_sac_begins_without_the_reward_that_it_learned_from(source: Path) -> None:
    """A session on the true reward has none, and predictors of another shape would not fit."""
    sac = ["--algorithm", "sac"]
    old = new_session(
        make_parser().parse_args(["teach", "low.json", "--teacher", "none", "--session", "sac", *SMALL, *sac])
    )
    with closing(old), closing(HeadlessRun(old, lambda event: None, threads=1)) as run:
        run.run()
    session, events = begun("low.json", "--from", "sac", "--take", "policy", "--labels", "3", *sac)
    taken, before = first(events, PolicyPublished), load_newest(Path("sac") / CHECKPOINTS)
    assert (taken.version, taken.env_steps) == (0, 0) and before is not None
    assert all(np.array_equal(array, before[1]["policy"].arrays[name]) for name, array in taken.weights.items())


def test_a_session_without_a_limit_uses_all_answers_of_one_with_a_limit(source: Path) -> None:
    parsed = make_parser().parse_args(
        ["teach", "low.json", "--labels", "4", "--session", "few", *SMALL, "--set", "reward.max_labels=2"]
    )
    with closing(new_session(parsed)) as few, closing(HeadlessRun(few, lambda event: None, threads=1)) as run:
        run.run()
    session, events = begun("low.json", "--from", "few", "--labels", "2")
    assert session.config.query.taken == 4
    assert max(event.preferences for event in events if isinstance(event, RewardFitted)) >= 4


def test_a_taken_reward_is_kept_until_there_are_enough_answers_to_fit(source: Path) -> None:
    parsed = make_parser().parse_args(
        ["teach", "low.json", "--from", "old", "--take", "reward", "--labels", "9", "--session", "new", *SMALL]
    )
    with closing(new_session(parsed)) as session:
        loaded = session.load()
        job = build(JobSpec("reward", session.config.to_dict(), loaded[1]["reward"]))
        said: list[type | None] = []
        events = job.run()
        for number, given in enumerate([AnswersReplayed(), *map(PreferenceAdded, _answers(source)[:2])]):
            job.receive(given)
            job.receive(PolicyPublished(number, {}))
            took = itertools.takewhile(lambda event: not isinstance(event, Waited), events)
            said.append(next((type(event) for event in took if isinstance(event, RewardFitted)), None))
    assert said == [None, None, RewardFitted]


def test_answers_are_copied_and_new_ones_requested(source: Path, cli: Run) -> None:
    words = ["teach", behaviour("high", oracle="height[cpole]"), "--from", "old", "--labels", "3", "--session", "new"]
    printed = cli(*words, "--json", *SMALL)
    assert "old has 4 answers about another behaviour" in printed.err
    result = json.loads(printed.out)
    assert (result["labels"], result["env_steps"], result["divergences"]) == (4 + 3, 8 * 32 * 6, 0)
    answers, before = ([(a.id, a.choice) for a in _answers(folder)] for folder in (Path("new"), source))
    assert answers[:4] == before and len(answers) == 7
    config = read_config(Path("new"))
    assert (config.labels, config.query.taken) == (7, 4)
    assert [scheduled(steps, config) for steps in (0, config.steps)] == [4 + scheduled(0, alone(config)), 7]


def test_cant_tell_does_not_count_among_the_taken_answers(source: Path) -> None:
    with closing(Session.open(source)) as session, closing(session.store()) as store:
        store.change(1, Choice.CANT_TELL, "human")
    words = ["teach", behaviour("high", oracle="height[cpole]"), "--from", "old", "--labels", "3", "--session", "new"]
    with closing(new_session(make_parser().parse_args([*words, *SMALL]))) as made:
        assert (made.config.labels, made.config.query.taken) == (3 + 3, 3)


def test_a_session_that_cannot_be_begun_leaves_no_folder(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill in the middle leaves no folder that looks complete either."""
    monkeypatch.setattr(Path, "write_bytes", raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    words = ["teach", "low.json", "--from", "old", "--session", "new"]
    with pytest.raises(UserError, match="new can't be written .*: make room on the disk"):
        new_session(make_parser().parse_args([*words, *SMALL]))
    assert not Path("new").exists()


def test_using_a_session_without_its_own_checkpoint_is_one_sentence(source: Path) -> None:
    words = ["teach", "low.json", "--from", "old", "--take", "reward,policy", "--session", "new"]
    new_session(make_parser().parse_args([*words, *SMALL])).close()
    act, env = policy("new"), environment("new")
    assert np.isfinite(act(env.reset()[0])).all()  # the taken policy acts already
    env.close()
    for use in (
        lambda folder: LearnedReward(environment(folder), folder),
        lambda folder: export_onnx(folder, Path("x.onnx")),
    ):
        with pytest.raises(UserError, match="no checkpoint of its own yet: teach for a minute first"):
            use(Path("new"))


@pytest.mark.parametrize(("has", "wants"), [("policy", "reward"), ("reward", "policy")])
def test_a_policy_or_reward_that_was_only_taken_over_is_not_taken_again(source: Path, has: str, wants: str) -> None:
    parser = make_parser()
    new_session(
        parser.parse_args(["teach", "low.json", "--from", "old", "--take", has, "--session", "new", *SMALL])
    ).close()
    words = ["teach", "low.json", "--from", "new", "--take", f"{has},{wants}", "--session", "newer", *SMALL]
    with pytest.raises(
        UserError, match=f"new has no {wants} of its own yet: teach it for a minute first, or leave that out"
    ):
        new_session(parser.parse_args(words))
    assert not Path("newer").exists()


def alone(config: Config) -> Config:
    """Return the config of the same session with nothing taken over."""
    return replaced(config, labels=config.labels - config.query.taken, query__taken=0)


def _answers(folder: Path) -> list[Any]:
    with closing(Session.open(folder)) as session, closing(session.reader()) as store:
        return list(store.each())


REFUSED = [
    (["low.json", "--from", "nowhere"], "nowhere is not a session"),
    (["other.json", "--from", "old"], "old has another robot than "),
    (["fast.json", "--from", "old"], "old has a control rate of 20 per second instead of 50:"),
    (["low.json", "--from", "old", "--take", "reward,brain"], "'brain' can't be taken"),
    (["low.json", "--from", "old", "--take", ","], "--take is empty"),
    (["low.json", "--from", "old", "--take", ""], "--take is empty"),
    (["low.json", "--take", "policy"], "--from DIR"),
    (["low.json", "--take", ""], "--from DIR"),
    (["low.json", "--from", "old", "--set", "policy.hidden=8"], "set policy.hidden=16, or begin without that policy"),
    (
        ["long.json", "--from", "old", "--take", "reward", "--set", "reward.members=3"],  # the taken answers do not fit
        "set reward.members=5, or begin without that reward.",
    ),
    (["low.json", "--from", "old", "--set", "reward.members=3"], "set reward.members=5,"),
    (["low.json", "--from", "old", "--set", "reward.inputs=observation_action"], "set reward.inputs=observation,"),
    (["long.json", "--from", "old"], "has 20 steps, not 40"),
    (["low.json", "--from", "silent", "--take", "answers"], "silent has no answers to begin with"),
    (["--resume", "old", "--from", "old"], "A resumed session keeps its task"),
    (
        ["low.json", "--from", "old", "--take", "answers", "--target"],
        "answers without true returns: leave out --target",
    ),
]


def test_a_session_that_does_not_fit_is_refused_in_one_sentence(source: Path, cli: Run) -> None:
    behaviour("other", "walker", oracle="height")
    behaviour("long", clip_seconds=2)
    behaviour("fast", control_rate=50)
    asked = ["teach", "low.json", "--session", "silent", *SMALL]
    new_session(make_parser().parse_args(asked)).close()
    for words, expected in REFUSED:
        more = [] if "--resume" in words else ["--session", "new", *SMALL]
        line = cli("teach", *words[:1], *more, *words[1:], code=2).err
        assert expected in line and not Path("new").exists(), line


def test_a_taken_policy_can_be_evaluated_before_any_training(source: Path, cli: Run) -> None:
    def true_return(folder: str) -> float:
        printed = cli("evaluate", folder, "--episodes", "1", "--json")
        assert ("no trained policy yet" in printed.err) == (folder == "reward")
        return json.loads(printed.out)["true_return"]

    for part in ("reward", "policy"):
        words = ["low.json", "--from", "old", "--take", part, "--session", part, *SMALL]
        new_session(make_parser().parse_args(["teach", *words])).close()
    assert true_return("old") == true_return("policy") != true_return("reward")


def test_a_run_killed_before_its_own_first_checkpoint_ends_with_the_same_numbers(source: Path) -> None:
    words = ["teach", behaviour("high", oracle="height[cpole]"), "--from", "old", "--take", "reward,policy"]
    session = new_session(make_parser().parse_args([*words, "--labels", "4", "--session", "new", *SMALL]))

    def copy_midway(event: Event) -> None:
        """Copy the session as a kill would leave it, once it has two answers of its own."""
        if isinstance(event, PreferenceAdded) and event.preference.id == 2:
            shutil.copytree("new", "killed", ignore=shutil.ignore_patterns("lock"))

    with closing(session), closing(HeadlessRun(session, copy_midway, threads=1)) as run:
        undisturbed = run.run()
    with (
        closing(Session.open(Path("killed"))) as resumed,
        closing(HeadlessRun(resumed, lambda _: None, threads=1)) as run,
    ):
        again = run.run()
    assert (again.labels, again.env_steps, again.true_return) == (4, undisturbed.env_steps, undisturbed.true_return)
    one, other = (load_newest(Path(folder) / CHECKPOINTS) for folder in ("new", "killed"))
    for name in ("policy", "reward"):
        arrays = other[1][name].arrays
        assert all(np.array_equal(array, arrays[key]) for key, array in one[1][name].arrays.items())


def test_damaged_answers_or_checkpoints_are_refused_before_anything_is_made(source: Path, cli: Run) -> None:
    (source / "preferences" / "00000002.safetensors").write_bytes(b"damaged")
    for path in (source / "checkpoints").iterdir():
        path.write_bytes(b"damaged")
    words = ["teach", "low.json", "--session", "new", *SMALL, "--from", "old", "--take"]
    for take, expected in (
        ("answers", "old/preferences/00000002.safetensors is damaged"),
        ("policy", "take its answers"),
    ):
        line = cli(*words, take, code=2).err
        assert expected in line and not Path("new").exists(), line

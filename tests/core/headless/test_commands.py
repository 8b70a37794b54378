"""The headless command line as called by a person or a script."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import pytest

import core
from core.__main__ import make_parser
from core.headless import bench
from core.headless.teach import new_session
from core.io.error_stream import prepare_streams
from core.rollout.episodes import mean_return, random_returns
from core.session import library
from core.session.archive import export_session
from core.session.preference_export import export_preferences
from core.session.session import Session, read_config
from core.tasks import get_task
from tests.benchmarks.signals_page import signals_page
from tests.core.builders import BEHAVIOUR, QUICK, SETTINGS, raising, tiny
from tests.core.gym_toys import Walk
from tests.screens import ROOT, pipe_that_nobody_reads, run_python

STEPS = 8 * 32 * 12
SHORT = ["--labels", "8", "--steps", str(STEPS), *SETTINGS]


Run = Callable[..., Any]


def result_of(printed: Any) -> Any:
    """Return the JSON value on the only line of standard output."""
    (line,) = printed.out.splitlines()
    return json.loads(line)


def test_a_session_is_exported_to_one_file_and_imported(tmp_path: Path, cli: Run) -> None:
    Session.create(tmp_path / "s", tiny(seed=9)).close()
    Session.open(tmp_path / "s").store().close()
    cli("export", "s", "one.somersault")
    cli("import", "one.somersault", "back")
    again = Session.open(tmp_path / "back")
    assert again.config.seed == 9
    again.close()
    (tmp_path / "here").mkdir()
    with contextlib.chdir(tmp_path / "here"):
        cli("import", "../one.somersault", ".")
    assert (tmp_path / "here" / "config.json").exists()
    for words in (("export", "s", "one.somersault"), ("import", "one.somersault", "back"), ("import", "no", "x")):
        cli(*words, code=2)


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["export", "s"], "x" * 252),
        (["preferences", "export", "s"], "x" * 256),
        (["import", "packed"], "file/out"),
        (["preferences", "import", "answers"], "file/out"),
        (["teach", "hopper-backflip", "--session"], "x" * 256),
    ],
)
def test_an_unwritable_target_is_one_sentence(words: list[str], target: str, cli: Run) -> None:
    session = Session.create(Path("s"), tiny())
    session.store().close()
    export_session(session, Path("packed"))
    export_preferences(session, Path("answers"))
    session.close()
    Path("file").write_text("no folder")
    before = sorted(Path().rglob("*"))
    assert ("shorter name" in cli(*words, target, code=2).err) == target.startswith("x")
    assert sorted(Path().rglob("*")) == before


def test_tasks_are_listed(cli: Run) -> None:
    entries = result_of(cli("tasks", "--json"))
    fields = {"name", "title", "instruction", "segment_steps", "segment_seconds", "true_reward", "measure"}
    assert "hopper-backflip" in [entry["name"] for entry in entries] and fields <= entries[0].keys()


def test_robots_and_behaviours_are_listed(cli: Run) -> None:
    robots = {robot["name"]: robot for robot in result_of(cli("robots", "--json"))}
    assert "height[foot_geom]" in robots["hopper"]["signals"] and "thigh_joint" in robots["hopper"]["joints"]
    listed = result_of(cli("behaviours", "--json"))
    assert {entry["robot"] for entry in listed} == set(robots)
    assert listed[0].keys() == listed[-1].keys() and "hopper-backflip" in [entry["name"] for entry in listed]


def test_the_page_of_signals_is_current_and_a_robots_signals_are_listed(cli: Run) -> None:
    page = Path(core.__file__).parents[1] / "docs" / "signals.md"
    assert signals_page() == page.read_text(), "python -m tests.benchmarks.signals_page > docs/signals.md"
    assert cli("robots", "hopper").out.splitlines() == get_task("hopper-frontflip").names.all()
    swing = '<body><joint name="swing"/><geom name="arm" size=".1"/></body>'
    actuator = '<actuator><motor joint="swing" ctrlrange="-1 1"/></actuator>'
    Path("swing.xml").write_text(f"<mujoco><worldbody>{swing}</worldbody>{actuator}</mujoco>")
    assert "joint_rate[swing]" in cli("robots", "mjcf:swing.xml").out
    assert '"height[arm]"' in cli("robots", "mjcf:swing.xml", "--json").out
    assert "did you mean hopper?" in cli("robots", "hoper", code=2).err


LOW = {**BEHAVIOUR, "name": "low", "robot": "pendulum", "clip_seconds": 1}


def test_a_behaviour_file_is_taught_kept_and_evaluated(cli: Run) -> None:
    measured = {"measure": {"name": "mean_height", "expression": "mean(height[cpole])"}, "oracle": "-height[cpole]"}
    Path("low.json").write_text(json.dumps({**LOW, **measured}))
    small = ["--labels", "4", "--steps", str(8 * 32 * 6), *SETTINGS]
    result = result_of(cli("teach", "low.json", "--session", "s", "--json", *small))
    assert (result["task"], result["labels"]) == ("low", 4) and result["measure"]["mean_height"] > 0
    Path("low.json").unlink()
    config = read_config(Path("s"))
    assert (config.query.schedule, config.reward.members) == ("answers", 5)  # of the default settings
    assert json.loads(config.task) == {**LOW, **measured}
    assert result_of(cli("evaluate", "s", "--episodes", "2", "--json"))["measure"].keys() == {"mean_height"}
    assert result_of(cli("teach", "--resume", "s", "--json"))["task"] == "low"
    found = library.entry(Path("s")).summary  # as shown on the window's start page
    assert found and (found.labels, found.env_steps, found.teacher) == (4, result["env_steps"], "oracle")
    assert found.best is not None and found.best >= result["measure"]["mean_height"]


def test_an_oracle_of_unobserved_quantities_is_taught_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("late.json").write_text(json.dumps({**LOW, "oracle": "time * up - action[slide] ** 2"}))
    for inputs, warned in (
        ("observation", "action[slide] and time, which they do not see. They see actions with --set"),
        ("observation_action", "a reward for time, which they do not see.\n"),
    ):
        args = make_parser().parse_args(["teach", "late.json", "--session", inputs, "--set", f"reward.inputs={inputs}"])
        new_session(args).close()
        assert warned in capsys.readouterr().err


DOCUMENTED = {
    "task": "reacher",
    "teacher": "oracle",
    "algorithm": "ppo",
    "seed": 3,
    "labels": 8,
    "env_steps": STEPS,
    "divergences": 0,
}
MEASURED = ("wall_seconds", "steps_per_second", "true_return", "random_return")


def test_a_run_is_taught_filmed_and_evaluated(cli: Run) -> None:
    result = result_of(cli("teach", "reacher", "--seed", "3", "--session", "s", "--video", "v.mp4", "--json", *SHORT))
    assert {name: result[name] for name in DOCUMENTED} == DOCUMENTED
    assert all(isinstance(result[name], float) and result[name] == result[name] for name in MEASURED)
    assert result["random_return"] == mean_return(random_returns(read_config(Path("s")))) != result["true_return"]
    assert result["steps_per_second"] > 0 and get_task("reacher").measure_name in result["measure"]
    assert Path("v.mp4").stat().st_size > 1000
    with closing(Session.open(Path("s"))):  # open in another program
        evaluated = result_of(cli("evaluate", "s", "--episodes", "2", "--json"))
    assert (evaluated["task"], evaluated["episodes"], evaluated["env_steps"]) == ("reacher", 2, STEPS)
    assert evaluated["measure"].keys() == result["measure"].keys()


def test_a_task_that_cannot_be_drawn_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch, cli: Run) -> None:
    monkeypatch.setattr(mujoco, "Renderer", raising(RuntimeError("no driver")))
    refused = cli("teach", "reacher", "--session", "s", "--video", "v.mp4", *SHORT, code=2)
    assert "because OpenGL is missing" in refused.err and not Path("s").exists()


def test_a_refused_film_shows_no_progress(cli: Run) -> None:
    Session.create(Path("s"), tiny(task="pendulum")).close()
    for words, reason in (([], "no policies"), (["--height", "7"], "7 pixels"), (["--height", "100000008"], "2160")):
        for kind in ([], ["--talk"]):
            (line,) = cli("film", "s", "--out", "film.mp4", *words, *kind, code=2).err.splitlines()
            assert reason in line


@pytest.mark.slow
def test_bench_gives_positive_ratios(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {**QUICK, "labels": 4, "steps": 8 * 32 * 4}
    quick = functools.partial(bench.measure, turns=1, **small)
    monkeypatch.setattr(bench, "measure", quick)
    Path("low.json").write_text(json.dumps({**LOW, "oracle": "-height[cpole]"}))
    result = result_of(cli("bench", "--task", "low.json", "--json"))
    assert result.pop("task") == "low" and result.pop("device") in ("cpu", "cuda")
    assert {"collecting_of_raw", "teaching_of_raw", "fit_epoch_milliseconds"} <= result.keys()
    assert all(value > 0 for value in result.values()), result


def test_bench_refuses_tasks_without_an_oracle(cli: Run) -> None:
    Path("low.json").write_text(json.dumps(LOW))
    refused = cli("bench", "--task", "low.json", code=2)
    assert "low has no oracle, and bench needs one: name a task or a behaviour with an oracle." in refused.err


TEACH = ["teach", "hopper-backflip", "--session", "s"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["teach", "hopper-sideflip", "--session", "s"], "hopper-backflip"),
        (["teach", "--session", "s"], "hopper-backflip"),
        (["teach", "nowhere.json", "--session", "s"], "nowhere.json"),
        ([*TEACH, "--labels", "-5"], "labels"),
        ([*TEACH, "--labels", "0"], "or teacher to none"),
        ([*TEACH, "--set", "nonsense"], "NAME=VALUE"),
        ([*TEACH, "--set", "nothing.members=1"], "nothing.members"),
        ([*TEACH, "--set", "policy.discount=null"], "discount"),
        ([*TEACH, "--set", "policy.algorithm=dqn"], "ppo, trpo, a2c"),
        ([*TEACH, "--set", "reward.members=1", "--set", "query.selection=disagreement"], "selection=random"),
        (
            [*TEACH, *["--set", "reward.members=1", "--set", "query.selection=random", "--set", "reward.bonus=8"]],
            "reward.bonus=0",
        ),
        ([*TEACH, "--no-ensemble", "--set", "reward.members=3"], "--no-ensemble sets reward.members=1, and --set"),
        ([*TEACH, "--random-queries", "--no-segments", "--set", "query__segment_steps=2"], "leave out one of the two"),
        ([*TEACH, "--target", "--oracle-skip", "0.1"], "target=returns"),
        ([*TEACH, "--teacher", "none", "--target"], "--teacher none"),
        ([*TEACH, "--oracle-mistakes", "2"], "mistakes"),
        ([*TEACH, "--set", "query.segment_steps=321"], "segment_steps"),
        (
            [*TEACH, "--steps", "900", "--set", "rollout.environments=100", "--set", "rollout.steps=9"],
            "give several times 4,000 steps",
        ),
        ([*TEACH, "--set", "true_reward=best"], "true_reward"),
        (["teach", "hopper", "--session", "s", "--set", "true_reward=openai"], "hopper has no true reward 'openai'"),
        ([*TEACH, "--video", "film.gif"], ".mp4"),
        ([*TEACH, "--video", "nowhere/film.mp4"], "There is no folder nowhere"),
        ([*TEACH, "--set", "teacher=human"], "teacher can't be given as a setting: use --teacher"),
        ([*TEACH, "--set", "task=ant"], "name it as the first word"),
        ([*TEACH, "--set", "query.taken=3"], "use --from"),
        ([*TEACH, "--set", "seed=3"], "use --seed"),
        ([*TEACH, "--set", "rollout.steps=0"], "rollout.steps is 0"),
        ([*TEACH, "--set", "rollout=0"], "There is no setting 'rollout'"),
        ([*TEACH, "--set", "policy.discont=0.9"], "'policy.discont': did you mean policy.discount?"),
        (["teach", "walker-kneell", "--session", "s"], "did you mean walker-kneel?"),
        (["teach", "foreign/thesis.tex", "--session", "s"], "a behaviour file (.json)"),
        ([*TEACH, "--video", "folder.mp4"], "folder.mp4 is a folder"),
        (["film", "s", "--out", "folder.mp4"], "folder.mp4 is a folder"),
        (["bench", "--steps", "0"], "--steps must be at least 1."),
        ([*TEACH, "--video", f"{'x' * 300}/film.mp4"], "There is no folder xxx"),
        (["teach", "still.json", "--session", "s"], "signals that never change on this robot: roll_rate, side_speed"),
        (["teach", "--resume", "nowhere"], "nowhere"),
        (["teach", "--resume", "foreign"], "foreign"),
        (["teach", "hopper-backflip", "--session", "foreign"], "foreign"),
        (["teach", "--resume", "s", "--video", "film.gif"], ".mp4"),
        (
            ["teach", "--resume", "s", "--labels", "5"],
            "keeps its task, folder, labels, steps and settings: leave them out",
        ),
        (["teach", "--resume", "s", "--preset", "paper"], "leave them out"),
        (["evaluate", "nowhere", "--strip", "strip.jpg"], "does not end in .png"),
        (["evaluate", "nowhere"], "nowhere"),
        (["evaluate", "nowhere", "--episodes", "0"], "episode"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(words: list[str], reason: str, cli: Run) -> None:
    Path("folder.mp4").mkdir()
    Path("foreign").mkdir()
    Path("foreign/thesis.tex").write_text("x")
    Path("still.json").write_text(json.dumps({**LOW, "robot": "hopper", "oracle": "side_speed - abs(roll_rate)"}))
    assert reason in cli(*words, code=2).err
    assert not Path("s").exists()  # no session was created
    assert [path.name for path in Path("foreign").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "command", ["teach hopper --from", "teach hopper --resume", "teach hopper --session", "sweep fig2 --out"]
)
def test_an_empty_folder_name_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        make_parser().parse_args([*command.split(), ""])
    assert "expected a folder, got an empty string" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = run_command("tasks", "--json", stdout=full)
    assert done.returncode == 1 and done.stderr == "somersault: the disk is full: make room, then try again.\n"


def run_command(*words: str, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE) -> Any:
    """Run a command in its own process, with the usual buffering of output."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "core", *words]
    return subprocess.run(command, cwd=ROOT, env=environ, stdout=stdout, stderr=stderr, text=True, check=False)


def test_output_to_a_closed_pipe_is_dropped_silently() -> None:
    with pipe_that_nobody_reads() as pipe:
        done = run_command("tasks", stdout=pipe)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
def test_training_continues_when_messages_cannot_be_written(tmp_path: Path) -> None:
    """This happens when Ctrl+C also ends `tee`, which receives the progress bar."""
    quick = ["--labels", "2", "--steps", "1000", "--set", "rollout.environments=8", "--set", "query.first_labels=1"]
    with pipe_that_nobody_reads() as pipe:
        done = run_command("teach", "pendulum", *quick, "--session", str(tmp_path / "s"), "--json", stderr=pipe)
    assert done.returncode == 0 and json.loads(done.stdout)["env_steps"] >= 1000


def test_a_command_that_fails_prints_only_its_sentence() -> None:
    done = run_python("-m", "core", *TEACH, "--labels", "abc")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_help_needs_no_torch() -> None:
    code = "import sys, core.__main__ as m; m.make_parser(); sys.exit('torch' in sys.modules)"
    assert run_python("-c", code).returncode == 0


def test_a_session_without_a_name_gets_its_own_folder_in_sessions() -> None:
    gymnasium.register("my/Walk-v0", Walk)
    arguments = make_parser().parse_args(["teach", "gym:my/Walk-v0", "--teacher", "none"])
    folders = []
    for _ in range(3):
        with closing(new_session(arguments)) as session:
            folders.append(session.folder)
    del gymnasium.registry["my/Walk-v0"]
    assert len(set(folders)) == 3 and {folder.parent.name for folder in folders} == {"sessions"}


def test_a_character_that_the_terminal_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    prepare_streams()
    print("0.5 \u00b1 0.1", flush=True)
    assert written.getvalue().decode() == "0.5 \\xb1 0.1\n"

"""ONNX files, which must compute the same as the program and describe themselves, or are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from core.api import LearnedReward, environment, policy
from core.config import Config
from core.errors import UserError
from core.portable.observation import observation_numbers
from core.robots.importing import import_robot
from core.robots.models import load_model
from core.session.session import Session
from core.tasks import PAPER_ROBOTS, get_task
from core.tasks.behaviour_tasks import task_text
from tests.core import played
from tests.core.builders import tiny
from tests.core.robot_toys import SIT, imported, write_dog
from tests.screens import ROOT

onnxruntime = pytest.importorskip("onnxruntime")
from core.portable.export import LIMIT, export_onnx  # noqa: E402 - needs onnx

Run = Callable[..., Any]


def taught(folder: Path, config: Config, cycles: int = 6) -> Path:
    """A session with a checkpoint and, unless no answer is given, a fitted reward."""
    played.taught(folder, config, cycles)
    return folder


def loaded(path: Path) -> Run:
    """Return the file as run by another program: a function from inputs to outputs by name."""
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda **inputs: dict(zip(names, session.run(names, inputs), strict=True))


def own_contract(path: Path) -> dict[str, Any]:
    """Return the contract inside the file."""
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    found: dict[str, Any] = json.loads(session.get_modelmeta().custom_metadata_map["contract.json"])
    return found


def mjcf_task() -> str:
    write_dog()
    return task_text("sit.json", import_robot)


def assert_equal_to_the_program(folder: Path, target: Path) -> None:
    """Require the same actions and rewards of the files and of core.api, in an episode of the task's environment."""
    contract = json.loads(target.with_name("contract.json").read_text())
    assert contract == own_contract(target) == own_contract(target.with_name(contract["files"]["reward"]))
    act, judge, own = loaded(target), loaded(target.with_name(contract["files"]["reward"])), policy(folder)
    env = LearnedReward(environment(folder), folder)
    observation, _ = env.reset(seed=3)
    assert contract["observation"]["shape"] == ["batch", *observation.shape]
    limits = [number["limits"] for number in contract["action"].get("numbers", [])]
    for _ in range(20):
        row, chosen = observation[None], own(observation)
        action = act(observation=row)["action"]
        if limits:
            low, high = np.array(limits, np.float32).T
            assert action[0] == pytest.approx((low + high) / 2 + chosen * (high - low) / 2, abs=1e-5)
            assert (action >= low).all() and (action <= high).all()
        else:
            assert action.tolist() == [chosen]
        predicted = judge(observation=row, action=action)["reward"]
        observation, reward, *_ = env.step(chosen)
        assert predicted == pytest.approx([reward], abs=1e-4)  # the program's own sums have single precision too


def test_a_reward_of_observations_alone_takes_no_action(tmp_path: Path) -> None:
    folder = taught(tmp_path / "s", tiny(task="pendulum", reward__inputs="observation"))
    export_onnx(folder, tmp_path / "p.onnx")
    judge, env = loaded(tmp_path / "p-reward.onnx"), LearnedReward(environment(folder), folder)
    observation, _ = env.reset(seed=3)
    for action in (-1.0, 1.0):
        predicted = judge(observation=observation[None])["reward"]
        observation, reward, *_ = env.step(np.array([action]))
        assert predicted == pytest.approx([reward], abs=1e-4)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("name", "algorithm"), [("pendulum", "ppo"), ("pendulum", "sac"), ("gym:CartPole-v1", "ppo"), ("mjcf", "ppo")]
)
def test_the_files_compute_the_same_as_the_program(tmp_path: Path, name: str, algorithm: str) -> None:
    task = mjcf_task() if name == "mjcf" else name
    config = tiny(task=task, policy__algorithm=algorithm)
    folder, target = taught(tmp_path / "s", config), tmp_path / "new" / "p.onnx"
    made = export_onnx(folder, target)
    assert made.differences.keys() == {"policy", "reward"} and max(made.differences.values()) <= LIMIT
    assert_equal_to_the_program(folder, target)


def test_a_servo_that_rests_off_the_middle_of_its_range_is_exported(tmp_path: Path) -> None:
    Path("arm.xml").write_text(
        """<mujoco><worldbody><body pos="0 0 1"><joint name="elbow" type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body></worldbody>
        <actuator><position joint="elbow" kp="20" kv="2" ctrlrange="-2 2"/></actuator>
        <keyframe><key name="home" qpos="1" ctrl="1"/></keyframe></mujoco>"""
    )
    Path("hold.json").write_text(
        json.dumps({**SIT, "name": "hold", "robot": "mjcf:arm.xml", "start": "standing", "oracle": "joint[elbow]"})
    )
    folder = taught(
        tmp_path / "s", tiny(task=task_text("hold.json", import_robot), reward__inputs="observation_action")
    )
    assert max(export_onnx(folder, tmp_path / "p.onnx").differences.values()) <= LIMIT
    act, own, env = loaded(tmp_path / "p.onnx"), policy(folder), environment(folder)
    observation, _ = env.reset(seed=3)
    (action,) = act(observation=observation[None])["action"]
    chosen = own(observation)
    assert action == pytest.approx(1 + np.where(chosen > 0, chosen * 1, chosen * 3), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("task", [*PAPER_ROBOTS, "hopper-backflip", "walker-kneel", "ant-spin", "reacher-wave"])
def test_the_files_of_every_robot_compute_the_same_as_the_program(tmp_path: Path, task: str) -> None:
    folder = taught(tmp_path / "s", tiny(task=task), 15)  # a predictor that hardly distinguishes states may be refused
    export_onnx(folder, tmp_path / "p.onnx")
    assert_equal_to_the_program(folder, tmp_path / "p.onnx")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_files_of_a_game_compute_the_same_as_the_program(tmp_path: Path) -> None:
    """The exporter compares in float32, because on some processors the program rounds pictures to bfloat16."""
    small = {"query__pool": 64, "query__first_labels": 4, "reward__std": 0.05}  # the games' own standard deviation
    folder = taught(tmp_path / "s", tiny(task="pong", **small))
    made = export_onnx(folder, tmp_path / "p.onnx")
    assert made.differences.keys() == {"policy", "reward"} and max(made.differences.values()) <= LIMIT
    contract = own_contract(tmp_path / "p.onnx")
    assert own_contract(tmp_path / "p-reward.onnx") == contract
    assert contract["action"]["names"] == ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
    pictures = np.zeros((2, 4, 84, 84), np.uint8)
    assert loaded(tmp_path / "p.onnx")(observation=pictures)["action"].shape == (2,)


def test_the_policy_file_alone_acts_in_plain_gymnasium(tmp_path: Path) -> None:
    """The contract's observation, limits and control rate suffice to reproduce the program's own episode."""
    folder = taught(tmp_path / "s", tiny(task="swimmer"))
    export_onnx(folder, tmp_path / "p.onnx")
    act, contract = loaded(tmp_path / "p.onnx"), own_contract(tmp_path / "p.onnx")
    ours = environment(folder)
    seen, _ = ours.reset(seed=0)
    gym = gymnasium.make("Swimmer-v5", frame_skip=contract["control"]["frame_skip"]).unwrapped
    gym.model.opt.timestep = contract["control"]["timestep"]
    numbers = contract["observation"]["numbers"]
    gym.reset(seed=0)
    start = {"qpos": np.zeros(gym.model.nq), "qvel": np.zeros(gym.model.nv)}
    for number, value in zip(numbers, seen, strict=True):
        if number.get("form") != "cos":  # the sine suffices for the angle of a robot that has hardly moved
            start[number["source"]][number["index"]] = np.arcsin(value) if "form" in number else value
    gym.set_state(start["qpos"], start["qvel"])
    forms = {None: float, "sin": np.sin, "cos": np.cos}
    for _ in range(5):
        data = {"qpos": gym.data.qpos, "qvel": gym.data.qvel}
        values = [forms[n.get("form")](data[n["source"]][n["index"]]) for n in numbers]
        observation = np.array([values], np.float32)
        assert observation[0] == pytest.approx(seen, abs=1e-4)
        action = act(observation=observation)["action"][0]
        gym.step(action)
        seen, *_ = ours.step(action)
    gym.close()


def test_the_documented_snippet_reads_heights_of_the_present_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A physics step of MuJoCo does not update the positions of the geoms."""
    (snippet,) = re.findall(
        r"^```python\n((?:(?!```).)*?onnxruntime.*?)^```", (ROOT / "docs/use-elsewhere.md").read_text(), re.S | re.M
    )
    export_onnx(taught(tmp_path / "s", tiny(task="hopper-backflip")), Path("flip/flip.onnx"))
    names: dict[str, Any] = {}
    exec(snippet, names)
    assert "turns backward" in capsys.readouterr().out
    env, observe = names["env"], names["observe"]
    for control in (1.0, -1.0, 1.0):
        env.reset(seed=1)
        env.step(np.full(3, control))
        seen = observe()
        mujoco.mj_forward(env.model, env.data)
        assert seen == pytest.approx(observe(), abs=1e-6)
    env.close()


def test_an_orientation_is_described_by_the_rotation_matrix_of_its_quaternion() -> None:
    task = get_task("ant")
    numbers = observation_numbers(task, load_model(task))[:6]
    assert [number["name"] for number in numbers[:2]] == ["joint[root].z", "joint[root].rotation[2][0]"]
    positions, velocities = np.zeros((1, 15)), np.zeros((1, 14))
    positions[0, 3:7] = np.random.default_rng(0).standard_normal(4)
    positions[0, 3:7] /= np.linalg.norm(positions[0, 3:7])
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, positions[0, 3:7])
    seen = task.observe(positions, velocities)[0]
    for number, value in zip(numbers[1:], seen[1:6], strict=True):
        row, column = (int(digit) for digit in re.findall(r"\d", number["form"]))
        assert (number["source"], number["index"]) == ("qpos", 3)
        assert matrix[3 * row + column] == pytest.approx(value)
    opposite = positions.copy()
    opposite[0, 3:7] *= -1
    assert np.array_equal(task.observe(opposite, velocities)[0], seen)  # the same orientation


UNNAMED = """<mujoco><worldbody><body pos="0 0 .3"><freejoint/><geom type="box" size=".2 .1 .05"/><geom size=".1" pos=".2 0 0"/>
  <body pos=".2 0 0"><joint name="hip" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.2" size=".03"/></body>
</body></worldbody><actuator><motor joint="hip" ctrlrange="-1 1"/></actuator></mujoco>"""


def test_unnamed_geoms_are_found_in_a_file_without_a_floor() -> None:
    Path("it.xml").write_text(UNNAMED)
    own, task = mujoco.MjModel.from_xml_string(UNNAMED), imported(Path("it.xml"))[1]
    model = load_model(task)
    numbers = [number for number in observation_numbers(task, model) if "geom" in number]
    found = [int(own.body_geomadr[number["geom_body"]]) + number["geom_in_body"] for number in numbers]
    assert sorted(found) == [0, 1, 2] and all(number["geom_name"] == "" for number in numbers)
    for number, geom in zip(numbers, found, strict=True):
        assert number["geom"] != geom and own.geom_size[geom] == pytest.approx(model.geom_size[number["geom"]])
        assert (number["floor_geom_name"], number["floor_geom_body"]) == ("somersault_floor", 0)


def test_a_file_that_computes_different_values_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = taught(tmp_path / "s", tiny(task="pendulum", teacher="none"))
    monkeypatch.setattr("core.portable.graphs.OBSERVATION_LIMIT", 0.01)
    with pytest.raises(UserError, match=r"Nothing was exported: as ONNX the policy differs by .* more than 1e-05"):
        export_onnx(folder, tmp_path / "x" / "p.onnx")
    assert not (tmp_path / "x").exists()
    monkeypatch.undo()
    made = export_onnx(folder, tmp_path / "x" / "p.onnx")
    assert "only the policy" in made.note and sorted(path.name for path in (tmp_path / "x").iterdir()) == [
        "contract.json",
        "p.onnx",
    ]
    reward = tmp_path / "x" / "p-reward.onnx"
    for path in (tmp_path / "x" / "p.onnx", reward):
        path.write_bytes(b"earlier")
    assert export_onnx(folder, tmp_path / "x" / "p.onnx").differences == made.differences  # replaces the earlier file
    assert (tmp_path / "x" / "p.onnx").stat().st_size > 1000 and not reward.exists()
    with pytest.raises(UserError, match=r"contract\.json already exists: name an \.onnx file in a folder of its own"):
        export_onnx(folder, tmp_path / "x" / "q.onnx")
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "p-reward.onnx").write_bytes(b"somebody's own")
    with pytest.raises(UserError, match=r"p-reward\.onnx already exists"):
        export_onnx(folder, tmp_path / "y" / "p.onnx")


def test_an_impossible_export_is_refused_in_one_sentence(tmp_path: Path, cli: Run) -> None:
    Session.create(tmp_path / "s", tiny()).close()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "contract.json").write_text("{}")
    for words, expected in (
        ("s --onnx p.onnx", "teach for a minute first"),
        ("s --onnx p.zip", "does not end in .onnx"),
        ("s --onnx nowhere/x/p.onnx", "There is no folder nowhere: make it first."),
        ("s --onnx used/p.onnx", "a folder of its own"),
        ("s s.somersault --onnx p.onnx", "Name either one file"),
        ("s", "Name either one file"),
    ):
        assert expected in cli("export", *words.split(), code=2).err
    assert not Path("nowhere").exists()

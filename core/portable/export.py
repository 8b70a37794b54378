"""Export of a session's policy and predicted reward as ONNX files, compared with this program before they are kept."""

import json
import math
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.api import Normalizer, fitted_ensemble, load_session
from core.config import Config
from core.envs import make_envs
from core.envs.base import VectorEnv
from core.errors import UserError, checkpoint_errors, missing_packages
from core.events import JobState
from core.io import files
from core.nn.stacked_mlp import CPU
from core.nn.state import load_state_arrays
from core.policy.policy_network import PolicyNetwork
from core.rollout.actor import Actor, build_policy
from core.seeding import generator
from core.session.job_states import has_reward
from core.tasks import get_task
from core.types import Float32, Observations

CONTRACT = "contract.json"
STATES = 1000
"""Number of states in which files and program are compared."""
LIMIT = 1e-5
"""Largest difference: of actions relative to half their range, of log probabilities, and of the normalized reward."""
_ENVIRONMENTS = 8


@dataclass(frozen=True)
class Exported:
    """The files that were written. note: a sentence about a file that is missing, or ''"""

    paths: tuple[Path, ...]
    differences: dict[str, float]
    note: str = ""


def export_onnx(folder: Path, target: Path) -> Exported:
    """Write the policy of the session's newest checkpoint to `target`, and next to it the predicted reward and a contract.

    An existing file `target` is replaced; its folder is created, but not the parent folder. Raises UserError if the
    parent folder is missing, if there is no checkpoint, if a file that no earlier export wrote has the name of the reward
    or the contract, if onnx is not installed, or if the results of a file differ from those of this program.
    """
    if target.suffix.lower() != ".onnx":
        raise UserError(f"{target} does not end in .onnx: name an .onnx file for the policy.")
    if not os.path.isdir(above := target.parent.parent):
        raise UserError(f"There is no folder {above}: make it first.")
    reward_path, contract_path = _reward_path(target), target.with_name(CONTRACT)
    if not (os.path.exists(target) and os.path.exists(contract_path)):
        files.require_new(reward_path)
        files.require_new(contract_path, "name an .onnx file in a folder of its own")
    require_onnx()
    config, states = load_session(folder)
    from core.portable.contract import contract, controls_of
    from core.portable.graphs import policy_model, reward_model

    task = get_task(config.task, config.true_reward)
    with closing(make_envs(task, _ENVIRONMENTS, generator(config.seed, "parity"), threads=1)) as env:
        controls = controls_of(task, env)
        policy = _policy(config, states["policy"])
        observations, actions = visited_states(config, states["policy"], env)
        models = {target: policy_model(policy, controls, config.policy.vision)}
        differences = {"policy": policy_difference(models[target].SerializeToString(), policy, env, observations)}
        note = ""
        if has_reward(states["reward"]):
            ensemble = fitted_ensemble(config, states["reward"], torch.float32)
            normalizer = Normalizer(ensemble, states["rollout"], config.reward.std)
            model = reward_model(ensemble, normalizer, controls)
            raw = ensemble.predict(observations, np.clip(actions, -1, 1))
            expected = np.array([normalizer(row) for row in raw.T])
            models[reward_path] = model
            differences["reward"] = reward_difference(model.SerializeToString(), env, observations, actions, expected)
        else:
            note = "No reward has been fitted in this session, so only the policy was exported."
        for name, difference in differences.items():
            if not difference <= LIMIT:
                raise UserError(
                    f"Nothing was exported: as ONNX the {name} differs by {difference:.1e} from this program, more than"
                    f" {LIMIT:g}, in one of {STATES} states. Give more answers, or train for longer, first."
                )
        described = contract(config, env, controls)
    described |= {
        "files": {"policy": target.name, "reward": reward_path.name if reward_path in models else None},
        "parity": {"states": STATES, "limit": LIMIT, "largest_differences": differences},
        "session": {"env_steps": int(states["rollout"].values["env_steps"]), "seed": config.seed},
    }
    return _write(target, models, described, differences, note)


def require_onnx() -> None:
    """Raise UserError if the packages of the extra `onnx` are missing."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise missing_packages("An ONNX file", "onnx", "onnxruntime") from error


def _reward_path(target: Path) -> Path:
    return target.with_name(f"{target.stem}-reward.onnx")


def _write(
    target: Path, models: dict[Path, Any], described: dict[str, Any], differences: dict[str, float], note: str
) -> Exported:
    text = json.dumps(described, indent=2)
    files.make_inside(target.parent)
    contract_path, contents = target.with_name(CONTRACT), dict[Path, bytes]()
    for path, model in models.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = CONTRACT, text  # for a file that is moved without the contract
        contents[path] = model.SerializeToString()
    files.write_together({**contents, contract_path: f"{text}\n".encode()})
    if (reward_path := _reward_path(target)) not in models:
        files.clear_away(reward_path)  # of the export that this one replaces
    return Exported((*models, contract_path), differences, note)


def _policy(config: Config, state: JobState) -> PolicyNetwork:
    network = build_policy(config, CPU, torch.float32)
    with checkpoint_errors("policy"):
        load_state_arrays(network, state.arrays)
    return network


def visited_states(config: Config, state: JobState, env: VectorEnv) -> tuple[Observations, Float32]:
    """Return observations (STATES, o) and actions (STATES, a) of the policy, acting with noise in the task's environments."""
    actor = Actor(config, generator(config.seed, "parity actions"))
    with checkpoint_errors("policy"):
        actor.load(state.arrays)
    seen, done = [], []
    for _ in range(math.ceil(STATES / env.count)):
        observations = env.observations
        actions, _ = actor(observations)
        seen.append(observations)
        done.append(actions)
        env.step(actions)
    return np.concatenate(seen)[:STATES], np.concatenate(done)[:STATES]


def policy_difference(model: bytes, policy: PolicyNetwork, env: VectorEnv, observations: Observations) -> float:
    """Return the largest difference between the file's actions and the program's; inf for a different discrete action."""
    outputs = _run(model, {"observation": observations})
    with torch.no_grad():
        distribution = policy.distribution(policy.normalize(torch.as_tensor(observations)))
        rows = policy.sample(distribution, None)[0].numpy()
    if env.discrete:
        logs = distribution[0].numpy()
        difference = float(np.abs(outputs["log_probability"] - logs).max())
        two_best = np.sort(logs, axis=1)[:, -2:]
        certain = two_best[:, -1] - two_best[:, 0] > 2 * LIMIT  # otherwise either is as good, or there is only one
        same = outputs["action"] == env.controls(rows)
        return difference if same[certain].all() else math.inf
    expected, reach = env.controls(np.clip(rows, -1, 1)), _reach(env)
    return float((np.abs(outputs["action"] - expected) / np.where(reach > 0, reach, 1.0)).max())


def reward_difference(
    model: bytes, env: VectorEnv, observations: Observations, actions: Float32, expected: np.ndarray
) -> float:
    """Return the largest difference between the file's rewards and `expected` (STATES,)."""
    own = env.controls(actions if env.discrete else np.clip(actions, -1, 1))
    inputs = {"observation": observations, "action": own.astype(np.int64) if env.discrete else own}
    return float(np.abs(_run(model, inputs)["reward"] - expected).max())


def _reach(env: VectorEnv) -> np.ndarray:
    low, high = (env.controls(np.full((1, env.sizes[1]), side, np.float32)) for side in (-1, 1))
    return np.asarray((high - low) / 2, np.float64)


def _run(model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a model by name, for rows of inputs; inputs that the model does not have are ignored."""
    session = _session(model)
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    given = {
        wanted.name: inputs[wanted.name]
        .reshape(-1, *wanted.shape[1:])
        .astype(kinds.get(wanted.type, inputs[wanted.name].dtype))
        for wanted in session.get_inputs()
    }
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


def _session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

"""Gymnasium's vector environments: made for a task, returned after use, and used again.

Closing one environment can shut down a library for all others of the process, such as pygame. Therefore returned ones
are closed only once none is in use, and demonstrations, one after the other, use the same one.
"""

from __future__ import annotations

import copy
import functools
import importlib.metadata
import logging
import os
import weakref
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from core.errors import UserError
from core.tasks.gymnasium import GYM_PREFIX, GymTask

log = logging.getLogger(__name__)
Envs = SyncVectorEnv[Any, Any]
_ATARI = "ALE/"
_MUJOCO_PIXELS = 240
"""Side of MuJoCo's pictures in pixels. Gymnasium's default, 480, takes several times as long without a GPU."""

_Kind = tuple[str, int, bool]
"""ID, number of environments, and whether they render."""

_in_use = weakref.WeakKeyDictionary[Envs, _Kind]()
_returned: list[tuple[_Kind, Envs]] = []
"""Environments that wait for reuse."""


def take_envs(task: GymTask, environments: int, pictures: bool) -> Envs:
    """Return a vector environment that is not in use. Reset all its environments first, and give it back after use.

    pictures: True if it renders. Raises UserError if the ID is unknown or the environment can't be made.
    """
    kind = (task.env_id, environments, pictures)
    found = next((number for number, (its, _) in enumerate(_returned) if its == kind), None)
    envs = _make(task, environments, pictures) if found is None else _returned.pop(found)[1]
    _in_use[envs] = kind
    return envs


def give_back(envs: Envs) -> None:
    """Keep an environment from `take_envs` for its next use, or close it with all others that are kept, if none is in use."""
    kind = _in_use.pop(envs, None)
    if kind is None:  # it has been given back
        return
    _returned.append((kind, envs))
    while _returned and not _in_use:
        _, unused = _returned.pop()
        for env in unused.envs:
            _free_opengl(env)
        unused.close()


def viewer(env: gymnasium.Env[Any, Any]) -> Any:
    """Return Gymnasium's own viewer of a MuJoCo environment that has been drawn, else None."""
    return getattr(getattr(env.unwrapped, "mujoco_renderer", None), "viewer", None)


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith((".", "!", "?")) else f"{text}."


class _Plain(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment without `info`, which Gymnasium can't stack for every type, and with a number as its reward."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, _ = self.env.reset(seed=seed, options=options)
        return observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return observation, np.asarray(reward, np.float64).item(), bool(terminated), bool(truncated), {}


@functools.cache
def _register_installed() -> None:
    """Load the entry points gymnasium.envs of installed packages, which register environments; Gymnasium no longer does."""
    for plugin in importlib.metadata.entry_points(group="gymnasium.envs"):
        try:
            plugin.load()()
        except Exception as error:  # in another package's code: those of the other packages remain
            log.warning("The environments of %s can't be registered (%s).", plugin.value, one_line(error))


def _make(task: GymTask, environments: int, pictures: bool) -> Envs:
    if task.env_id.startswith(_ATARI):
        raise UserError(f"{task.name} is an Atari game: choose one of the tasks for games, such as pong.")
    if ":" in task.env_id:
        raise UserError(
            f"{task.name} names a module, which is not imported: register the environment in an installed package"
            " (its entry point gymnasium.envs), and leave the module out."
        )
    _register_installed()
    if versions := [known for known in gymnasium.registry if known.rpartition("-v")[0] == task.env_id]:
        raise UserError(f"{task.name} has no version: write {GYM_PREFIX}{versions[-1]}.")
    options: dict[str, Any] = {"render_mode": "rgb_array"} if pictures else {}
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # no window is opened, and without a display SDL would fail
    try:
        spec = copy.deepcopy(gymnasium.spec(task.env_id))
        if pictures and str(spec.entry_point).startswith("gymnasium.envs.mujoco"):
            options |= {"width": _MUJOCO_PIXELS, "height": _MUJOCO_PIXELS}
        spec.max_episode_steps = None  # episodes have our own length
        spec.disable_env_checker = True
        made = gymnasium.make_vec(
            spec,
            environments,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
            wrappers=[_Plain],
            **options,
        )
    except gymnasium.error.UnregisteredEnv as error:
        own = " Your own must be registered by an installed package (its entry point gymnasium.envs)."
        advice = "" if isinstance(error, gymnasium.error.VersionNotFound) else own
        raise UserError(f"No environment named {task.env_id}: {one_line(error)}{advice}") from error
    except Exception as error:
        raise UserError(f"{task.name} can't be created: {one_line(error)}") from error
    assert isinstance(made, SyncVectorEnv)
    return made


def _free_opengl(env: gymnasium.Env[Any, Any]) -> None:
    """Free a MuJoCo environment's OpenGL objects, in its own context; the garbage collector would use another one's."""
    if drawn := viewer(env):
        drawn.make_context_current()
        drawn.con.free()

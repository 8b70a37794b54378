"""Choice of the device on which networks are trained."""

import logging
import re
import warnings

import torch

from core.config import Config
from core.errors import NoGpuError
from core.tasks import get_task

log = logging.getLogger(__name__)


def device_for(config: Config) -> torch.device:
    """Return the device that config.device names.

    'auto' means a GPU, if there is one, for tasks with image observations. The networks of other tasks are so small that a
    GPU is at most 20% faster, and each of a session's processes would take memory on it.

    Raises NoGpuError if the device is 'cuda' and torch can't use a GPU.
    """
    if config.device == "cpu" or config.device == "auto" and not get_task(config.task).pictures:
        return torch.device("cpu")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
    problem = _unsupported_gpu() if available else _failure(caught)
    if available and not problem:
        return torch.device("cuda")
    if config.device == "cuda":
        raise NoGpuError(
            problem or "This machine has no CUDA device that torch can use: choose the device cpu or auto."
        )
    if problem:
        log.warning("%s Training continues on the CPU.", problem)
    return torch.device("cpu")


def _failure(caught: list[warnings.WarningMessage]) -> str:
    """Return a sentence for the user if torch warned about the GPU, as it does once per process; '' otherwise."""
    for warning in caught:
        _, found, told = str(warning.message).partition("CUDA initialization: ")
        if found:
            reason = re.split(r"\. (?=[A-Z])|\.? \(Triggered", told)[0].rstrip(".")
            remedy = "update its driver" if "too old" in reason else "restart the computer"
            return f"PyTorch can't use the GPU ({reason}): {remedy}, or choose the device cpu."
    return ""


def _unsupported_gpu() -> str:
    """Return a sentence for the user if the installed torch has no code for the GPU's architecture; '' otherwise."""
    if torch.version.cuda is None:  # built for AMD's GPUs, whose architectures have other names
        return ""
    capability = torch.cuda.get_device_capability()
    if has_code_for(torch.cuda.get_arch_list(), capability):
        return ""
    return (
        f"The installed PyTorch has no code for {torch.cuda.get_device_name()}, a GPU of compute capability"
        f" {capability[0]}.{capability[1]}: choose the device cpu."
    )


def has_code_for(architectures: list[str], capability: tuple[int, int]) -> bool:
    """Return whether a build of torch runs on a GPU.

    architectures: architectures of the build. Code for 'sm_86' runs on GPUs of capability 8.6 to 8.9; code for
        'compute_90' is compiled at load time, for 9.0 and all newer capabilities
    capability: compute capability of the GPU, (major, minor)
    """
    for architecture in architectures:
        kind, _, number = architecture.rstrip("af").partition("_")
        built_for = int(number[:-1]), int(number[-1])
        if built_for <= capability and (kind == "compute" or built_for[0] == capability[0]):
            return True
    return False

"""Choice of the device that networks are trained on."""

import ctypes
import logging
import sys
import warnings

import torch

from core.config import Config
from core.errors import UserError

log = logging.getLogger(__name__)
_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def device_for(config: Config) -> torch.device:
    """Return the device that config.device names; 'auto' takes the GPU where there is one.

    Raises UserError where 'cuda' is asked for and torch can't use a GPU.
    """
    if config.device == "cpu":
        return torch.device("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch has a long warning about an old driver
        available = torch.cuda.is_available()
        problem = _unsupported_gpu() if available else outdated_driver(torch.version.cuda, newest_cuda_of_driver())
    if available and not problem:
        return torch.device("cuda")
    if config.device == "cuda":
        raise UserError(problem or "This machine has no CUDA device that torch can use: choose the device cpu or auto.")
    if problem:
        log.warning("%s Training continues on the CPU.", problem)
    return torch.device("cpu")


def _unsupported_gpu() -> str:
    """Return a sentence for the user if the installed torch has no code for the GPU's architecture; '' if it has."""
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

    architectures: those of the build. Code for 'sm_86' runs on GPUs of capability 8.6 to 8.9; code for 'compute_90' is
        compiled when it is loaded, for 9.0 and all newer ones.
    """
    for architecture in architectures:
        kind, _, number = architecture.rstrip("af").partition("_")
        built_for = int(number[:-1]), int(number[-1])
        if built_for <= capability and (kind == "compute" or built_for[0] == capability[0]):
            return True
    return False


def outdated_driver(built_for: str | None, driver: int) -> str:
    """Return a sentence for the user if the driver is older than torch's CUDA; '' if the driver is not the reason.

    built_for: torch's CUDA version, such as "12.6", or None for a build without CUDA
    driver: newest CUDA version that the driver supports, 1000 * major + 10 * minor; 0 for no driver
    """
    if built_for is None or driver == 0:
        return ""
    major, minor = (int(number) for number in built_for.split(".")[:2])
    if driver // 1000 >= major:  # any driver supports all minor versions of its major version
        return ""
    supported = f"{driver // 1000}.{driver % 1000 // 10}"
    return (
        f"The NVIDIA driver is too old: it supports CUDA {supported} and this build needs {major}.{minor}. Update the"
        " driver, or choose the device cpu."
    )


def newest_cuda_of_driver(library: str = _DRIVER) -> int:
    """Newest CUDA version that the installed driver supports, 1000 * major + 10 * minor; 0 without a driver."""
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return 0
    version = ctypes.c_int(0)
    failed = driver.cuDriverGetVersion(ctypes.byref(version))
    return 0 if failed else version.value

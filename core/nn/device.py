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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch has a long warning about an old driver
        available = torch.cuda.is_available()
    old = "" if available else outdated_driver(torch.version.cuda, newest_cuda_of_driver())
    if config.device == "cuda" and not available:
        raise UserError(old or "This machine has no CUDA device that torch can use: choose --device cpu or auto.")
    if config.device == "auto" and old:
        log.warning("%s Training continues on the CPU.", old)
    wants_gpu = config.device == "cuda" or (config.device == "auto" and available)
    return torch.device("cuda" if wants_gpu else "cpu")


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
        " driver, or choose --device cpu."
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

"""Where networks are trained."""

from __future__ import annotations

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
    """The device of the config; 'auto' takes the GPU where there is one. UserError if it is asked for and missing."""
    available, old = _cuda_is_available(), ""
    if not available:
        old = outdated_driver(torch.version.cuda, newest_cuda_of_driver())
    if config.device == "cuda" and not available:
        raise UserError(old or "This machine has no CUDA device that torch can use: choose --device cpu or auto.")
    if config.device == "auto" and old:
        log.warning("%s It goes on on the CPU.", old)
    wants_gpu = config.device == "cuda" or (config.device == "auto" and available)
    return torch.device("cuda" if wants_gpu else "cpu")


def outdated_driver(built_for: str | None, driver: int) -> str:
    """One sentence where the driver is older than torch's CUDA; '' where that is not why there is no GPU.

    built_for: torch's CUDA, such as 12.6; None for a build without. driver: 1000 * major + 10 * minor, 0 for none.
    """
    if built_for is None or driver == 0:
        return ""
    major, minor = (int(number) for number in built_for.split(".")[:2])
    if driver // 1000 >= major:  # within one major version any driver will do
        return ""
    has = f"{driver // 1000}.{driver % 1000 // 10}"
    return (
        f"The NVIDIA driver is too old: it knows CUDA {has} and this build needs {major}.{minor}: update the driver, or"
        " choose --device cpu."
    )


def newest_cuda_of_driver() -> int:
    """1000 * major + 10 * minor of the newest CUDA that the installed driver knows; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL(_DRIVER)
    except OSError:
        return 0
    version = ctypes.c_int(0)
    failed = driver.cuDriverGetVersion(ctypes.byref(version))
    return 0 if failed else version.value


def _cuda_is_available() -> bool:
    """torch warns at length where the driver is too old; that is said here instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(torch.cuda.is_available())

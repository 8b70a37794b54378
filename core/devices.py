"""Where networks are trained."""

from __future__ import annotations

import torch

from core.config import Config
from core.errors import UserError


def device_for(config: Config) -> torch.device:
    """The device of the config; 'auto' takes the GPU where there is one. UserError if it is asked for and missing."""
    if config.device == "cuda" and not torch.cuda.is_available():
        raise UserError("This machine has no CUDA device that torch can use: choose --device cpu or auto.")
    wants_gpu = config.device == "cuda" or (config.device == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if wants_gpu else "cpu")

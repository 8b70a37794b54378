"""Shared parts of all networks with image input: conversion of pixels, data type, dropout.

Images stay uint8 until a gradient step or a prediction needs them: as floating-point numbers they would take two to
four times the memory.
"""

import numpy as np
import torch
from torch import Tensor

MAX_PIXEL = 255.0
"""Divisor of the first layer's weights, which brings pixels to the range 0 to 1. Dividing the weights costs less than
dividing the pixels and rounds nothing: bfloat16 represents the integers up to 256 exactly."""


def compute_dtype(device: torch.device) -> torch.dtype:
    """Return the data type of convolutions: bfloat16 if the hardware supports it (half the time), else float32.

    Weights, sums over a batch and layers without pixels stay in float32 (mixed precision).
    """
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if native else torch.float32


def to_channels_last(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert images (B, n, h, w) uint8 to `dtype`, with values 0 to 255, in channels-last memory format.

    Convolutions take half the time in this format.
    """
    return images.contiguous(memory_format=torch.channels_last).to(dtype)


class TrainingPass:
    """Dropout with its own random numbers, and the batch-norm moments of one forward pass in training.

    moments: for each normalized layer in order, mean and variance (channels,) float32 of this pass's batch
    """

    def __init__(self, dropout: float, seed: int) -> None:
        """dropout: share of the units set to 0, rounded to a multiple of 1/256; seed: seed of the random numbers"""
        self._dropped = round(256 * dropout)
        self._rng = np.random.Generator(np.random.SFC64(seed))
        self.moments: list[tuple[Tensor, Tensor]] = []

    @property
    def scale(self) -> float:
        """Factor for the remaining units that keeps their mean: 1 / (1 - dropout)."""
        return 256 / (256 - self._dropped)

    def drop(self, hidden: Tensor) -> Tensor:
        """Set random units of hidden (B, C, h, w), channels last, to 0 in place, and return it."""
        if not self._dropped:
            return hidden
        count, channels, height, width = hidden.shape
        if hidden.device.type == "cpu":  # NumPy draws bytes in a fifth of the time that torch takes
            noise = torch.frombuffer(bytearray(self._rng.bytes(hidden.numel())), dtype=torch.uint8)
        else:
            generator = torch.Generator(hidden.device).manual_seed(int(self._rng.integers(2**63)))
            noise = torch.randint(256, (hidden.numel(),), dtype=torch.uint8, device=hidden.device, generator=generator)
        mask = (noise >= self._dropped).to(hidden.dtype)  # multiplication takes half the time of masked_fill
        return hidden.mul_(mask.view(count, height, width, channels).permute(0, 3, 1, 2))

"""What the networks that see pictures share: pixels to numbers, the number format, and what training adds to a layer.

Rows of uint8 stay so until the few that a gradient step or a prediction takes are handed to a network: as numbers in
floating point they would take two to four times the memory.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

BRIGHTEST = 255.0
"""Pictures are brought to the range 0 to 1 by dividing the first layer's weights, which costs less and rounds nothing:
bfloat16 holds the whole numbers to 256 exactly."""


def compute_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the hardware multiplies it, which takes half the time of float32; float32 elsewhere.

    Weights, sums over a batch and whatever a layer without pixels does stay in float32 (mixed precision).
    """
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if native else torch.float32


def to_channels_last(pictures: Tensor, kind: torch.dtype) -> Tensor:
    """(B, n, h, w) uint8 -> the same as numbers 0 to 255, channels last, which convolutions are twice as fast with."""
    return pictures.contiguous(memory_format=torch.channels_last).to(kind)


class TrainingPass:
    """What training adds to a pass: dropout, by draws of its own, and the moments of the batch, which it keeps.

    moments: mean and variance (channels,) of each normalized layer in turn, as this pass saw them
    """

    def __init__(self, dropout: float, seed: int) -> None:
        self._dropped = round(256 * dropout)
        self._rng = np.random.Generator(np.random.SFC64(seed))
        self.moments: list[tuple[Tensor, Tensor]] = []

    @property
    def factor(self) -> float:
        """By which what is not left out is to be scaled up."""
        return 256 / (256 - self._dropped)

    def drop(self, hidden: Tensor) -> Tensor:
        """hidden (B, C, h, w), channels last, which is changed in place: a share of its numbers becomes 0."""
        if not self._dropped:
            return hidden
        count, channels, height, width = hidden.shape
        if hidden.device.type == "cpu":  # a fifth of the time that torch's own draws take
            noise = torch.frombuffer(bytearray(self._rng.bytes(hidden.numel())), dtype=torch.uint8)
        else:
            generator = torch.Generator(hidden.device).manual_seed(int(self._rng.integers(2**63)))
            noise = torch.randint(256, (hidden.numel(),), dtype=torch.uint8, device=hidden.device, generator=generator)
        kept = (noise >= self._dropped).to(hidden.dtype)  # to multiply takes half the time of masked_fill
        return hidden.mul_(kept.view(count, height, width, channels).permute(0, 3, 1, 2))

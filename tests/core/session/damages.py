"""Damage to a file of numbers, as a failing disk or a malicious sender may do."""

from __future__ import annotations

from pathlib import Path

from safetensors.numpy import save


def flipped_bit(path: Path) -> None:
    """In the last array: nothing but the digest can tell."""
    content = bytearray(path.read_bytes())
    content[-3] ^= 16
    path.write_bytes(content)


def deep(path: Path) -> None:
    path.write_bytes(save({}, metadata={"somersault": "[" * 100_000}))

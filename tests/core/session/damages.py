"""Damage to a file of arrays, as by a failing disk or a malicious sender."""

from __future__ import annotations

from pathlib import Path

from safetensors.numpy import save


def flipped_bit(path: Path) -> None:
    """Flip a bit in the last array, which only the digest can detect."""
    content = bytearray(path.read_bytes())
    content[-3] ^= 16
    path.write_bytes(content)


def deep(path: Path) -> None:
    path.write_bytes(save({}, metadata={"somersault": "[" * 100_000}))

"""Segments as arrays for files and processes, and lossless compression of those of pictures.

Consecutive stacks of n pictures share all but one, so each picture is stored once: observation i consists of pictures i to
i + n - 1. Consecutive pictures differ in few pixels, so differences are stored, compressed by zlib. 25 steps of a game
take 3 to 15 kB instead of 706 kB, and their colour pictures 13 to 40 kB instead of 2,520 kB.

Arrays of a compressed segment (to_arrays): actions (k, a) float32, true_rewards (k,) float32 if there are any, and
    pictures (bytes,) uint8, pictures_shape (k + n - 1, h, w) int64: compressed
    states_packed (bytes,) uint8, states_shape (k, S) int64: compressed; or plain `states` (k, S) if they are not uint8
Compression of a uint8 array: subtract from each row the row before (modulo 256), then zlib.compress.
"""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.types import Float32, Observations, Query, Segment

Bytes = npt.NDArray[np.uint8]
_LEVEL = 1
"""Compression level of zlib. Level 9 takes ten times as long and saves 20%."""
_LARGEST = 32 << 20
"""Largest size of a decompressed array in bytes: files may come from other people. The stacks of the longest segment of a
game, 1,000 steps, have 28 MB; those of a usual one 0.7 MB."""


@dataclass(frozen=True, eq=False)
class CompressedArray:
    """Compressed uint8 array. payload: (bytes,) uint8; shape: of the decompressed array."""

    payload: Bytes
    shape: tuple[int, ...]

    def array(self) -> Bytes:
        """Return the decompressed array, `shape` uint8. Raises ValueError if the payload is damaged or has another size."""
        size = int(np.prod(self.shape, dtype=object))
        if min(self.shape, default=0) < 0 or size > _LARGEST:
            raise ValueError(f"an array of shape {self.shape} is impossible")
        unpacking = zlib.decompressobj()
        try:
            raw = unpacking.decompress(self.payload.tobytes(), size + 1)  # limits memory for any payload
        except zlib.error as error:
            raise ValueError(f"a compressed array is damaged ({error})") from error
        if len(raw) != size:
            raise ValueError("a compressed array does not have the size that it claims")
        rows = np.frombuffer(raw, np.uint8).reshape(self.shape).copy()
        for before, row in zip(rows[:-1], rows[1:], strict=True):
            row += before
        return rows


def compress(array: Bytes) -> CompressedArray:
    """Compress an array (k, ...) uint8."""
    differences = array.copy()
    differences[1:] -= array[:-1]
    return CompressedArray(np.frombuffer(zlib.compress(differences.data, _LEVEL), np.uint8), array.shape)


class CompressedSegment(Segment):
    """Segment whose pictures are decompressed at each access, which takes about 1 ms: read them only once."""

    __slots__ = ("packed_states", "pictures")

    pictures: CompressedArray
    """(k + n - 1, h, w); observation i consists of pictures i to i + n - 1."""
    packed_states: CompressedArray | npt.NDArray[Any]

    def __init__(
        self,
        id: int,
        pictures: CompressedArray,
        actions: Float32,
        packed_states: CompressedArray | npt.NDArray[Any],
        true_rewards: Float32 | None,
        env_steps: int,
    ) -> None:
        kept = {"id": id, "pictures": pictures, "actions": actions, "packed_states": packed_states}
        for name, value in {**kept, "true_rewards": true_rewards, "env_steps": env_steps}.items():
            object.__setattr__(self, name, value)

    @property
    def depth(self) -> int:
        """Number n of pictures in an observation."""
        return self.pictures.shape[0] - self.length + 1

    @property
    def observations(self) -> Observations:
        rows, k = self.pictures.array(), self.length
        return np.stack([rows[i : i + k] for i in range(self.depth)], axis=1).reshape(k, -1)

    @property
    def states(self) -> npt.NDArray[Any]:
        kept = self.packed_states
        return kept.array() if isinstance(kept, CompressedArray) else kept

    def __reduce__(self) -> tuple[Any, ...]:
        kept = self.id, self.pictures, self.actions, self.packed_states, self.true_rewards, self.env_steps
        return CompressedSegment, kept


def compress_segment(segment: Segment, pictures: Bytes) -> CompressedSegment:
    """Return a compressed copy of a segment.

    pictures (k + n - 1, h, w) uint8: the pictures of its observations; `segment.observations` is not read
    """
    states = segment.states
    kept = compress(states) if states.dtype == np.uint8 and states.size else states
    return CompressedSegment(
        segment.id, compress(pictures), segment.actions, kept, segment.true_rewards, segment.env_steps
    )


def state_size(segment: Segment) -> int:
    """Return the length of a row of the segment's states, without decompression."""
    states = segment.packed_states if isinstance(segment, CompressedSegment) else segment.states
    return int(states.shape[1])


def can_be_shown(query: Query) -> bool:
    """Return whether both clips can be drawn; segments collected without a window may have no pictures."""
    return state_size(query.left) > 0 and state_size(query.right) > 0


LOOSE = ("pictures", "states_packed")
"""Arrays of to_arrays whose lengths differ between compressed segments of one session."""


def to_arrays(segment: Segment) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays to store for a segment, apart from its id and env_steps; the module docstring lists them.

    An uncompressed segment has observations (k, o), states (k, S), actions (k, a) and true_rewards (k,) if there are any.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"actions": segment.actions}
    if segment.true_rewards is not None:
        arrays["true_rewards"] = segment.true_rewards
    if not isinstance(segment, CompressedSegment):
        return {"observations": segment.observations, "states": segment.states, **arrays}
    pictures, states = segment.pictures, segment.packed_states
    arrays |= {"pictures": pictures.payload, "pictures_shape": np.array(pictures.shape, np.int64)}
    if not isinstance(states, CompressedArray):
        return {**arrays, "states": states}
    return {**arrays, "states_packed": states.payload, "states_shape": np.array(states.shape, np.int64)}


def from_arrays(id: int, env_steps: int, arrays: Mapping[str, npt.NDArray[Any]]) -> Segment:
    """Return the segment from the arrays of `to_arrays`. Raises KeyError or ValueError if they do not fit together."""
    actions, rewards = arrays["actions"], arrays.get("true_rewards")
    if "pictures" not in arrays:
        plain = Segment(id, arrays["observations"], actions, arrays["states"], rewards, env_steps)
        return _require_sound(plain, plain.states.shape, plain.observations)
    states = arrays["states"] if "states" in arrays else _read(arrays, "states", "states_packed")
    kept = CompressedSegment(id, _read(arrays, "pictures", "pictures"), actions, states, rewards, env_steps)
    _require_sound(kept, states.shape)
    shape = kept.pictures.shape
    if len(shape) != 3 or min(shape) < 1:
        raise ValueError(f"segment {id} is not whole: its pictures are of another kind")
    if kept.depth < 1 or kept.length * kept.depth * shape[1] * shape[2] > _LARGEST:
        raise ValueError(f"segment {id} is not whole: its number of pictures is not that of its steps")
    return kept


def _require_sound(segment: Segment, states: tuple[int, ...], seen: Observations | None = None) -> Segment:
    """Return `segment` if its arrays fit together, else raise ValueError.

    states: shape of its states; seen: its observations
    """
    actions, rewards = segment.actions, segment.true_rewards
    k = actions.shape[:1]
    if k in ((), (0,)) or len(states) != 2 or states[:1] != k or seen is not None and seen.shape[:1] != k:
        raise ValueError(f"segment {segment.id} is not whole: its numbers of actions, states and observations differ")
    floats = [array for array in (actions, rewards) if array is not None]
    if seen is not None and seen.dtype.kind == "f":
        floats.append(seen)
    shaped = actions.ndim == 2 and (rewards is None or rewards.shape == k) and (seen is None or seen.ndim == 2)
    if not shaped or any(array.dtype != np.float32 for array in floats):
        raise ValueError(f"segment {segment.id} is not whole: its numbers are of another kind")
    if not all(np.isfinite(array).all() for array in floats):
        raise ValueError(f"segment {segment.id} has a number that is infinite or NaN")
    return segment


@dataclass(frozen=True)
class SegmentShape:
    """Size of a segment. observation: (o,) numbers, or (n, h, w) pixels of a stack of pictures."""

    steps: int
    observation: tuple[int, ...]
    action: int


def shape_of(segment: Segment) -> SegmentShape:
    """Return the size of a segment, without decompression."""
    k, action = segment.length, segment.actions.shape[1]
    if isinstance(segment, CompressedSegment):
        return SegmentShape(k, (segment.depth, *segment.pictures.shape[1:]), action)
    return SegmentShape(k, segment.observations.shape[1:], action)


def require_unpackable(segment: Segment) -> None:
    """Raise ValueError if the segment has compressed arrays that are damaged."""
    if isinstance(segment, CompressedSegment):
        segment.pictures.array()
        _ = segment.states


_SEEN = ("actions", "observations", "pictures")


def fingerprint(segment: Segment) -> str:
    """Return the hexadecimal digest of a segment's observations, actions and env_steps.

    Ids do not identify a segment: the store assigns its own, and after a crash the rollout assigns lost ones again.
    """
    digest = hashlib.blake2b(str(segment.env_steps).encode(), digest_size=16)
    arrays = to_arrays(segment)
    for name in _SEEN:
        if name in arrays:
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def pair_of(left: str, right: str) -> str:
    """Return the identity of a pair, the same for both orders of its two fingerprints."""
    return min(left, right) + max(left, right)


def _read(arrays: Mapping[str, npt.NDArray[Any]], name: str, payload: str) -> CompressedArray:
    shape = tuple(int(length) for length in arrays[f"{name}_shape"])
    if arrays[payload].dtype != np.uint8:
        raise ValueError(f"the compressed {name} are not bytes")
    return CompressedArray(arrays[payload], shape)

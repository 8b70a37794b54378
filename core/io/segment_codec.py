"""Segments of pictures kept small without losing a bit: in the pool, in the store of answers, and between processes.

Neighbouring stacks share all but one of their pictures, so each picture is kept once; and neighbouring pictures differ
in few pixels, so what is kept is the difference to the one before, packed by zlib. 25 steps of a game are 3 to 15 kB
instead of 706, and their colour pictures 13 to 40 kB instead of 2,520.

The arrays that a packed segment is written as (to_arrays): actions (k, a), true_rewards (k,) if there are any, and
    stacks (k, n): which pictures, in order, each step's observation is made of
    pictures, pictures_shape (F, h, w): packed
    states_packed, states_shape (k, S): packed; or plain `states` (k, S) where those are no bytes, or none were kept
An array of uint8 is packed so: each row but the first less the one before (modulo 256), then zlib's compressed stream.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from core.types import Float32, Observations, Segment

Bytes = npt.NDArray[np.uint8]
S = TypeVar("S", bound=Segment)
_LEVEL = 1
"""Of zlib's effort: 9 takes ten times as long for a fifth less."""
DEFERRED_BYTES = 1 << 18
"""An array larger than this is packed at once; the pictures of a game's usual segment are 198 kB."""
_LARGEST = 32 << 20
"""Bytes of an unpacked array: a file from another person may claim anything. The stacks of a game's longest segment, a
thousand steps, are 28 MB; those of the usual one are 0.7 MB."""
_MAX_HEADER = 1 << 16


@dataclass(frozen=True, eq=False)
class CompressedArray:
    """An array of uint8, packed. payload (bytes,); shape: of the array."""

    payload: Bytes
    shape: tuple[int, ...]

    def array(self) -> Bytes:
        """The array, bit for bit; ValueError where the payload is not one of that shape."""
        size = int(np.prod(self.shape, dtype=object))
        if min(self.shape, default=0) < 0 or size > _LARGEST:
            raise ValueError(f"an array of shape {self.shape} is not believable")
        unpacking = zlib.decompressobj()
        try:
            raw = unpacking.decompress(self.payload.tobytes(), size + 1)  # no more, whatever it holds
        except zlib.error as error:
            raise ValueError(f"a packed array is damaged ({error})") from error
        if len(raw) != size:
            raise ValueError("a packed array has not the size that it claims")
        rows = np.frombuffer(raw, np.uint8).reshape(self.shape).copy()
        for before, row in zip(rows[:-1], rows[1:], strict=True):
            row += before
        return rows


def compress(array: Bytes) -> CompressedArray:
    """array (k, ...)"""
    return CompressedArray(_payload(array), array.shape)


def _payload(array: Bytes) -> Bytes:
    differences = array.copy()
    differences[1:] -= array[:-1]
    return np.frombuffer(zlib.compress(differences.data, _LEVEL), np.uint8)


class Deferred(CompressedArray):
    """An array that is packed when its payload is first asked for, which of most segments of a rollout nobody does."""

    def __init__(self, array: Bytes) -> None:
        """array (k, ...), which must not change any more."""
        object.__setattr__(self, "shape", array.shape)
        object.__setattr__(self, "_array", array)

    @cached_property
    def payload(self) -> Bytes:
        return _payload(self.array())

    def array(self) -> Bytes:
        array: Bytes = self.__dict__["_array"]
        return array

    def __reduce__(self) -> tuple[Any, ...]:
        return CompressedArray, (self.payload, self.shape)


@dataclass(frozen=True, eq=False)
class FrameSequence:
    """Pictures, each kept once. stacks (k, n): which of them, in order, each step's observation is made of."""

    pictures: CompressedArray
    stacks: npt.NDArray[np.int32]

    def observations(self) -> Bytes:
        """(k, n * h * w)"""
        return self.pictures.array()[self.stacks].reshape(len(self.stacks), -1)


def frame_sequence(pictures: Bytes, depth: int) -> FrameSequence:
    """pictures (k + depth - 1, h, w), in their order: each of k observations is `depth` of them, one further each.

    If they are few they are packed only when they go somewhere.
    """
    steps = len(pictures) - depth + 1
    kept = Deferred(pictures) if pictures.nbytes <= DEFERRED_BYTES else compress(pictures)
    return FrameSequence(kept, np.add.outer(np.arange(steps), np.arange(depth)).astype(np.int32))


class CompressedSegment(Segment):
    """A segment whose pictures are unpacked each time that they are asked for: some 1 ms. Read them once."""

    __slots__ = ("packed_states", "reel")

    reel: FrameSequence
    packed_states: CompressedArray | npt.NDArray[Any]

    def __init__(
        self,
        id: int,
        reel: FrameSequence,
        actions: Float32,
        packed_states: CompressedArray | npt.NDArray[Any],
        true_rewards: Float32 | None,
        env_steps: int,
    ) -> None:
        kept = {"id": id, "reel": reel, "actions": actions, "packed_states": packed_states}
        for name, value in {**kept, "true_rewards": true_rewards, "env_steps": env_steps}.items():
            object.__setattr__(self, name, value)

    @property
    def observations(self) -> Observations:
        return self.reel.observations()

    @property
    def states(self) -> npt.NDArray[Any]:
        kept = self.packed_states
        return kept.array() if isinstance(kept, CompressedArray) else kept

    def __reduce__(self) -> tuple[Any, ...]:
        kept = self.id, self.reel, self.actions, self.packed_states, self.true_rewards, self.env_steps
        return CompressedSegment, kept


def compress_segment(segment: Segment, reel: FrameSequence) -> CompressedSegment:
    """reel: of its observations, which are not read."""
    states = segment.states
    kept = compress(states) if states.dtype == np.uint8 and states.size else states
    return CompressedSegment(segment.id, reel, segment.actions, kept, segment.true_rewards, segment.env_steps)


def state_size(segment: Segment) -> int:
    """Numbers in a row of its states; those of a packed one need not be unpacked for that."""
    states = segment.packed_states if isinstance(segment, CompressedSegment) else segment.states
    return int(states.shape[1])


LOOSE = ("pictures", "states_packed")
"""Arrays of to_arrays whose lengths differ between the packed segments of one session."""


def to_arrays(segment: Segment) -> dict[str, npt.NDArray[Any]]:
    """What is to be written of a segment besides its id and env_steps."""
    arrays: dict[str, npt.NDArray[Any]] = {"actions": segment.actions}
    if segment.true_rewards is not None:
        arrays["true_rewards"] = segment.true_rewards
    if not isinstance(segment, CompressedSegment):
        return {"observations": segment.observations, "states": segment.states, **arrays}
    arrays |= {"stacks": segment.reel.stacks, **_written("pictures", segment.reel.pictures, "pictures")}
    return arrays | _written("states", segment.packed_states, "states_packed")


def _written(name: str, kept: CompressedArray | npt.NDArray[Any], payload: str) -> dict[str, npt.NDArray[Any]]:
    if not isinstance(kept, CompressedArray):
        return {name: kept}
    return {payload: kept.payload, f"{name}_shape": np.array(kept.shape, np.int64)}


def from_arrays(id: int, env_steps: int, arrays: Mapping[str, npt.NDArray[Any]]) -> Segment:
    """The segment that `to_arrays` wrote; KeyError or ValueError where it is not whole."""
    actions, rewards = arrays["actions"], arrays.get("true_rewards")
    if "pictures" not in arrays:
        plain = Segment(id, arrays["observations"], actions, arrays["states"], rewards, env_steps)
        return _sound(plain, plain.observations, plain.states.shape)
    reel = FrameSequence(_read(arrays, "pictures", "pictures"), arrays["stacks"])
    if not _is_whole(reel):
        raise ValueError(f"segment {id} is not whole: its pictures are not those that it has stacks of")
    states = arrays["states"] if "states" in arrays else _read(arrays, "states", "states_packed")
    return _sound(CompressedSegment(id, reel, actions, states, rewards, env_steps), reel.stacks, states.shape)


def _sound(segment: S, seen: npt.NDArray[Any], states: tuple[int, ...]) -> S:
    """seen: its observations, or what they are made of. ValueError where its parts do not fit each other."""
    k, actions, rewards = len(seen), segment.actions, segment.true_rewards
    if not k or seen.ndim != 2 or actions.shape[:1] != (k,) or len(states) != 2 or states[0] != k:
        raise ValueError(f"segment {segment.id} is not whole: it has not as many actions or states as observations")
    told = [actions] if rewards is None else [actions, rewards]
    numbers = [*told, seen] if seen.dtype.kind == "f" else told
    if actions.ndim != 2 or len(told) == 2 and told[1].shape != (k,) or any(a.dtype != np.float32 for a in numbers):
        raise ValueError(f"segment {segment.id} is not whole: its numbers are of another kind")
    if not all(np.isfinite(array).all() for array in numbers):
        raise ValueError(f"segment {segment.id} has a number that is infinite or none")
    return segment


class Readable(Protocol):
    """What a segment's arrays can be read from without reading all of them."""

    def read(self, length: int = ..., /) -> bytes: ...
    def seek(self, offset: int, /) -> Any: ...


@dataclass(frozen=True)
class SegmentShape:
    """How large a segment is. observation: (o,) numbers, or (n, h, w) pictures"""

    steps: int
    observation: tuple[int, ...]
    action: int


def shape_of(file: Readable) -> SegmentShape:
    """Of a segment that was written as a safetensors file, from its header. ValueError where that makes no sense."""
    length = int.from_bytes(file.read(8), "little")
    try:
        header = json.loads(file.read(min(length, _MAX_HEADER)))
        steps, action = map(int, header["actions"]["shape"])
        if "pictures" not in header:  # as from_arrays tells them apart
            return SegmentShape(steps, tuple(map(int, header["observations"]["shape"][1:])), action)
        if header["pictures_shape"]["dtype"] != "I64":
            raise ValueError("a segment is not whole: the shape of its pictures is of another kind")
        file.seek(8 + length + int(header["pictures_shape"]["data_offsets"][0]))
        _, height, width = np.frombuffer(file.read(3 * 8), np.int64).tolist()
        return SegmentShape(steps, (int(header["stacks"]["shape"][1]), height, width), action)
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError(f"a segment is not whole ({error})") from error


def _is_whole(reel: FrameSequence) -> bool:
    """Whether its pictures, as they claim to be, can be stacked, and in a believable size."""
    stacks, shape = reel.stacks, reel.pictures.shape
    if not np.issubdtype(stacks.dtype, np.integer) or stacks.ndim != 2 or len(shape) != 3:
        return False
    in_range = not stacks.size or 0 <= stacks.min() <= stacks.max() < shape[0]
    return in_range and stacks.size * shape[1] * shape[2] <= _LARGEST


def require_unpackable(segment: Segment) -> None:
    """ValueError where what is packed in it is not what it claims to be."""
    if isinstance(segment, CompressedSegment):
        segment.reel.pictures.array()
        _ = segment.states


_SEEN = ("actions", "observations", "stacks", "pictures")


def fingerprint(segment: Segment) -> str:
    """What tells a segment from any other by what happens in it.

    Its number doesn't: the store gives it one of its own, and after a kill the rollout gives lost ones' numbers anew.
    """
    digest = hashlib.blake2b(str(segment.env_steps).encode(), digest_size=16)
    arrays = to_arrays(segment)
    for name in _SEEN:
        if name in arrays:
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def pair_of(left: str, right: str) -> str:
    """Of two fingerprints, whichever of them is on the left."""
    return min(left, right) + max(left, right)


def _read(arrays: Mapping[str, npt.NDArray[Any]], name: str, payload: str) -> CompressedArray:
    shape = tuple(int(length) for length in arrays[f"{name}_shape"])
    if arrays[payload].dtype != np.uint8:
        raise ValueError(f"the packed {name} are no bytes")
    return CompressedArray(arrays[payload], shape)

"""Seeded damage to sessions, on disk or as one file, like that done by disks, programs and people."""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from core.events import JobState
from core.preferences.store import decode, encode
from core.session.checkpoint import checkpoint_files, load_newest, save_checkpoint

Rng = np.random.Generator
Mutation = Callable[[Path, Rng], None]


def flip(path: Path, rng: Rng, start: int, end: int | None, most: int) -> None:
    """Change up to `most` bytes of a part of the file."""
    content = bytearray(path.read_bytes())
    first, last, _ = slice(start, end).indices(len(content))
    for at in rng.integers(first, last, rng.integers(1, most)):
        content[at] = int(rng.integers(256))
    path.write_bytes(content)


def flipped(path: Path, rng: Rng) -> None:
    flip(path, rng, 0, None, 9)


def flipped_early(path: Path, rng: Rng) -> None:
    """Flip bytes in the header, which has sizes and offsets."""
    flip(path, rng, 0, 200, 5)


def flipped_late(path: Path, rng: Rng) -> None:
    """Flip bytes in the list of members of a zip."""
    flip(path, rng, -400, None, 5)


def truncated(path: Path, rng: Rng) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(0, len(content))])


def extended(path: Path, rng: Rng) -> None:
    path.write_bytes(path.read_bytes() + rng.bytes(int(rng.integers(1, 5000))))


def zeroed(path: Path, rng: Rng) -> None:
    """Zero a block, as if never written because of a power cut."""
    content = bytearray(path.read_bytes())
    at, size = int(rng.integers(0, len(content))), int(rng.choice([16, 512, 4096]))
    content[at : at + size] = bytes(len(content[at : at + size]))
    path.write_bytes(content)


def swapped(path: Path, rng: Rng) -> None:
    content = bytearray(path.read_bytes())
    size = min(1024, len(content) // 3)
    one, other = sorted(int(x) for x in rng.integers(0, len(content) - size, 2))
    content[one : one + size], content[other : other + size] = content[other:][:size], content[one:][:size]
    path.write_bytes(content)


def foreign(path: Path, rng: Rng) -> None:
    """Put something else in the file's place: another program's file, a pipe, a folder."""
    path.unlink()
    contents = [save({"x": np.zeros(3, np.float32)}), b"\x89PNG\r\n\x1a\n" + rng.bytes(500), b"my shopping list\n" * 50]
    kind = rng.integers(5)
    if kind < 3:
        path.write_bytes(contents[kind])
    elif kind == 3 and hasattr(os, "mkfifo"):
        os.mkfifo(path)
    else:
        path.mkdir()


def missing(path: Path, rng: Rng) -> None:
    path.unlink()


def empty(path: Path, rng: Rng) -> None:
    path.write_bytes(b"")


def oversized(path: Path, rng: Rng) -> None:
    """Make the first number of the file enormous, whatever it means."""
    content = bytearray(path.read_bytes())
    width = int(rng.choice([4, 8]))
    at = int(rng.choice([0, 16, 28, 52]))
    content[at : at + width] = int(rng.choice([2**31 - 1, 2**30, 10**8])).to_bytes(width, "little")
    path.write_bytes(content)


def long_header(path: Path, rng: Rng) -> None:
    size = int(rng.choice([90 << 20, 99 << 20]))
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", size) + b'{"a":[' + b"[" * 10_000)
        file.truncate(8 + size)


def sparse(path: Path, rng: Rng) -> None:
    """Extend the file by gigabytes that use no disk space."""
    with open(path, "r+b") as file:
        file.truncate(int(rng.choice([3, 20])) << 30)


_ODD: list[Any] = [
    None,
    -1,
    0,
    10**400,
    1e308,
    float("nan"),
    "",
    "x" * 10_000,
    [],
    {},
    [[[]]],
    True,
    2**63,
    "../../etc",
]


def odd_value(path: Path, rng: Rng) -> None:
    """Replace one value of the config."""
    values = json.loads(path.read_bytes())
    place = values
    while True:
        name = list(place)[rng.integers(len(place))]
        if not isinstance(place[name], dict) or rng.random() < 0.1:
            break
        place = place[name]
    place[name] = _ODD[rng.integers(len(_ODD))]
    path.write_text(json.dumps(values))


def nested(path: Path, rng: Rng) -> None:
    path.write_text("[" * int(rng.choice([1000, 100_000])))


def odd_state(path: Path, rng: Rng) -> None:
    """Write a complete checkpoint with a valid digest and values that no job writes."""
    loaded = load_newest(path.parent)
    number, states = loaded
    job = str(rng.choice(sorted(states)))
    arrays, values = dict(states[job].arrays), dict(states[job].values)
    if arrays and rng.random() < 0.6:
        name = str(rng.choice(sorted(arrays)))
        old = arrays.pop(name)
        others = [
            np.zeros((3, 1, 2), old.dtype),
            np.full_like(old, np.nan if old.dtype.kind == "f" else 1),
            old[:0] if old.ndim else old,
            old.astype(np.int8),
        ]
        if (change := rng.integers(5)) < len(others):  # otherwise the value is removed
            arrays[name] = others[change]
    elif values:
        name = str(rng.choice(sorted(values)))
        values[name] = _ODD[rng.integers(len(_ODD))]
    save_checkpoint(path.parent, number, {**states, job: JobState(arrays, values)})


def odd_line(path: Path, rng: Rng) -> None:
    """Replace a value in one line of the log, with a valid checksum."""
    lines = path.read_bytes().splitlines()
    at = int(rng.integers(len(lines)))
    body = decode(lines[at])
    place = body["answer"] if "answer" in body and rng.random() < 0.8 else body
    name = str(rng.choice(sorted(place)))
    value = _ODD[rng.integers(len(_ODD))]
    if name != "seq" and value == value:
        place[name] = value
    lines[at] = encode(at + 1, body)[:-1]
    path.write_bytes(b"\n".join(lines) + b"\n")


def moved_line(path: Path, rng: Rng) -> None:
    """Delete a line, duplicate it, or put it in the place of another."""
    lines = path.read_bytes().splitlines(keepends=True)
    one, other = (int(at) for at in rng.integers(0, len(lines), 2))
    kind = rng.integers(3)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    path.write_bytes(b"".join(lines))


def crowded(path: Path, rng: Rng) -> None:
    """Fill the log with as many lines as fit, or more, all with valid checksums."""
    lines = path.read_bytes().splitlines()
    kind, most = rng.integers(3), int(rng.choice([15 << 20, 17 << 20]))
    body, size, number = decode(lines[0]), 0, len(lines)
    with open(path, "ab") as file:
        while size < most:
            number += 1
            if kind == 0:
                line = encode(number, {"do": "change", "id": 1, "choice": "tie", "labeller": "", "at": 0})
            elif kind == 1:
                line = encode(number, {"do": ("undo", "redo")[number % 2], "id": 1})
            else:
                line = encode(number, {"do": "add", "answer": {**body["answer"], "id": 10_000 + number}})
            size += file.write(line)


def other_file(path: Path, rng: Rng) -> None:
    """Replace the file of an answer by that of another."""
    names = sorted(path.parent.glob("*.safetensors"))
    path.write_bytes(names[rng.integers(len(names))].read_bytes())


def stray(path: Path, rng: Rng) -> None:
    """Add files that are not ours, or that a crash left."""
    names = ["00000999.part", "99999999.safetensors", "0.safetensors", "config.json", "log.jsonl.part", "\u202e"]
    path.with_name(str(rng.choice(names))).write_bytes(rng.bytes(5000))


def linked(path: Path, rng: Rng) -> None:
    path.unlink()
    path.symlink_to(str(rng.choice(["/dev/zero", "/etc/passwd", "/dev/random", str(path), "log.jsonl"])))


def _smuggled(path: Path, name: str, data: bytes, mode: int = stat.S_IFREG, packing: int = zipfile.ZIP_STORED) -> None:
    member = zipfile.ZipInfo(name)
    member.external_attr = (mode | 0o644) << 16
    with zipfile.ZipFile(path, "a", packing) as archive:
        archive.writestr(member, data, packing)


def path_trick(path: Path, rng: Rng) -> None:
    names = ["../escaped", "/tmp/escaped", "a/../../escaped", "C:\\escaped", "..\\escaped", "checkpoints/../../escaped"]
    _smuggled(path, str(rng.choice(names)), b"escaped")


def link(path: Path, rng: Rng) -> None:
    mode = int(rng.choice([stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFDIR]))
    _smuggled(path, "checkpoints/00000099.safetensors", b"/etc/passwd", mode)


def bomb(path: Path, rng: Rng) -> None:
    _smuggled(path, "checkpoints/00000099.safetensors", bytes(64 << 20), packing=zipfile.ZIP_DEFLATED)


def liar(path: Path, rng: Rng) -> None:
    """Falsify sizes, offsets or compression methods in the list of members."""
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\1\2")
    field, width = [(10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (42, 4)][rng.integers(6)]
    content[at + field : at + field + width] = rng.bytes(width)
    path.write_bytes(content)


ANY: tuple[Mutation, ...] = (flipped, flipped_early, truncated, extended, zeroed, swapped, foreign, empty, oversized)
OF_CHECKPOINT = (*ANY, missing, long_header, sparse, odd_state, odd_state)
OF_ANSWER = (*ANY, flipped, missing, sparse, long_header, other_file, stray, linked)
OF_LOG = (*ANY, flipped, missing, sparse, *[odd_line] * 3, moved_line, crowded, linked)
OF_CONFIG = (*ANY, missing, nested, sparse, *[odd_value] * 4)
OF_FILE = (*ANY, flipped_late, flipped_late, sparse, path_trick, link, bomb, liar, liar)


def _pick(mutations: tuple[Mutation, ...], rng: Rng) -> Mutation:
    return mutations[rng.integers(len(mutations))]


def mutated(session: Path, killed: Path, packed: Path, place: Path, rng: Rng) -> tuple[Path, str]:
    """Make a damaged copy of the session's folder or export under `place`; return it with a description of the damage.

    killed: the folder as left by a kill, with a torn line and an answer's file not yet renamed
    """
    if rng.random() < 0.3:
        copy = place / "shared.somersault"
        shutil.copy(packed, copy)
        mutation = _pick(OF_FILE, rng)
        mutation(copy, rng)
        return copy, f"{mutation.__name__} file"
    copy = place / "session"
    kind = rng.integers(4)
    shutil.copytree(killed if rng.random() < 0.3 and kind < 3 else session, copy)
    answers = sorted((copy / "preferences").glob("*.safetensors"))
    kinds = [
        (checkpoint_files(copy / "checkpoints")[-1], OF_CHECKPOINT),
        (answers[rng.integers(len(answers))], OF_ANSWER),
        (copy / "config.json", OF_CONFIG),
        (copy / "preferences" / "log.jsonl", OF_LOG),
    ]
    path, mutations = kinds[kind]
    mutation = _pick(mutations, rng)
    mutation(path, rng)
    return copy, f"{mutation.__name__} {path.name}"

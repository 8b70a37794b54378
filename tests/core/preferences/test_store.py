"""Durable store of answers: nothing acknowledged is lost, damage is noticed, and undamaged answers can be rescued."""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from core.preferences.rescue import rescue
from core.preferences.store import LOG, PreferenceStore
from core.types import Choice, PoolReturns, Query, Segment
from tests.core.builders import query, segment

ROOT = Path(__file__).resolve().parents[3]
LEFT, RIGHT, TIE, CANT_TELL = Choice
needs_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "preferences"


@pytest.fixture
def store(folder: Path) -> Iterator[PreferenceStore]:
    """Store with answers 1 to 3: left, right, tie."""
    with closing(PreferenceStore(folder)) as made:
        for number, choice in enumerate((LEFT, RIGHT, TIE)):
            made.add(query(number), choice, "human")
        yield made


def reopened(folder: Path) -> PreferenceStore:
    return PreferenceStore(folder, read_only=True)


def labels(folder: Path) -> list[tuple[int, Choice]]:
    with closing(reopened(folder)) as read:
        assert read.count() == len(read.all())
        return [(p.id, p.choice) for p in read.all()]


def same_segment(one: Segment, other: Segment) -> bool:
    arrays = [(getattr(s, name) for s in (one, other)) for name in ("observations", "actions", "states")]
    equal = all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in arrays)
    rewards = [None if s.true_rewards is None else s.true_rewards.tolist() for s in (one, other)]
    return equal and rewards[0] == rewards[1] and one.env_steps == other.env_steps


def again(store: PreferenceStore, key: int, swapped: bool = False) -> Query:
    """Pair of that answer, to be shown once more."""
    pair = store.answers(key)[0].preference.query
    left, right = (pair.right, pair.left) if swapped else (pair.left, pair.right)
    return replace(pair, left=left, right=right, repeats=key)


def one_sentence(refused: pytest.ExceptionInfo[UserError]) -> str:
    text = str(refused.value)
    assert "\n" not in text and text.endswith(".")
    return text


def test_answers_come_back_bit_for_bit(folder: Path) -> None:
    odd = query(7, segment(1, 3, [0.1, -2.5, 1e-7]), segment(2, 3), disagreement=1 / 3)
    asked = [replace(odd, pool_returns=PoolReturns(-0.1, 3.7)), query(8, disagreement=np.nan), query(9), query(10)]
    told: list[tuple[float, float] | None] = [(1.25, -1e-9), None, None, None]
    with closing(PreferenceStore(folder)) as first:
        given = [first.add(q, c, "oracle", r) for q, c, r in zip(asked, Choice, told, strict=True)]
    with closing(reopened(folder)) as read:
        found = read.all()
    assert [
        (p.id, p.choice, p.labeller, p.answered_at, p.query.id, p.returns, p.query.pool_returns) for p in found
    ] == [(p.id, p.choice, p.labeller, p.answered_at, p.query.id, p.returns, p.query.pool_returns) for p in given]
    for p, q in zip(found, asked, strict=True):
        assert same_segment(p.query.left, q.left) and same_segment(p.query.right, q.right)
    assert found[0].query.disagreement == 1 / 3 and np.isnan(found[1].query.disagreement)


def test_undo_takes_back_the_latest_answers_and_numbers_only_grow(store: PreferenceStore, folder: Path) -> None:
    assert [p and p.id for p in (store.undo(), store.undo())] == [3, 2]
    store.close()
    with closing(PreferenceStore(folder)) as next_day:
        assert next_day.add(query(9), TIE, "human").id == 4
        assert [p and p.id for p in (next_day.undo(), next_day.undo(), next_day.undo())] == [4, 1, None]
        assert next_day.count() == 0


def test_redo_restores_in_the_order_given_until_a_new_answer(store: PreferenceStore, folder: Path) -> None:
    given = store.rows()
    for _ in range(3):
        store.undo()
    store.close()
    with closing(PreferenceStore(folder)) as next_day:
        assert [p and p.id for p in (next_day.redo(), next_day.redo(), next_day.undo())] == [1, 2, 2]
        assert [p and p.id for p in (next_day.redo(), next_day.redo(), next_day.redo())] == [2, 3, None]
        assert next_day.rows() == given
        next_day.undo()
        next_day.add(query(9), LEFT, "human")
        assert next_day.redo() is None
        next_day.undo()
        assert [(row.withdrawn, row.undone) for row in next_day.rows()[2:]] == [(True, False), (True, True)]


def test_a_change_keeps_the_earlier_choices(store: PreferenceStore, folder: Path) -> None:
    assert store.change(2, TIE, "human").choice == TIE
    store.change(2, CANT_TELL, "oracle")
    store.add(query(4), LEFT, "human")
    store.change(2, RIGHT, "human")
    with closing(reopened(folder)) as read:
        ((stored,), (row,)) = read.answers(2), read.rows(2)
    assert (stored.preference.choice, stored.preference.labeller) == (RIGHT, "human")
    assert [(c.choice, c.labeller, c.newest) for c in stored.changes] == [
        (RIGHT, "human", 3),
        (TIE, "human", 3),
        (CANT_TELL, "oracle", 4),
    ]
    assert row.changes == stored.changes and [row.choice_at(newest) for newest in (3, 4, 5)] == [
        RIGHT,
        CANT_TELL,
        RIGHT,
    ]


def test_a_repeat_is_no_label_and_shares_the_segments(store: PreferenceStore, folder: Path) -> None:
    size = (folder / "00000002.safetensors").stat().st_size
    store.add(again(store, 2, swapped=True), LEFT, "human")
    first, repeat = store.answers(2, 4)
    assert same_segment(repeat.preference.query.left, first.preference.query.right)
    assert store.rows(4)[0].sides == store.rows(2)[0].sides[::-1] and store.rows(4)[0].repeats == 2
    assert (folder / "00000004.safetensors").stat().st_size < size / 2
    assert labels(folder) == [(1, LEFT), (2, RIGHT), (3, TIE)]
    taken = store.undo()
    assert taken and (taken.id, taken.query.repeats) == (4, 2)


def test_what_makes_no_sense_is_refused_and_not_written(store: PreferenceStore, folder: Path) -> None:
    store.add(again(store, 1), LEFT, "human")
    store.undo()
    store.redo()
    before = (folder / LOG).read_bytes()
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("not the pair of answer 1", lambda: store.add(replace(query(5), repeats=1), LEFT, "human")),
        ("not the pair of answer 4", lambda: store.add(replace(again(store, 1), repeats=4), LEFT, "human")),
        ("only repeats number 1", lambda: store.change(4, TIE, "human")),
        ("no answer 77", lambda: store.change(77, TIE, "human")),
        ("no answer 77", lambda: store.answers(77)),
    ]
    for words, attempt in attempts:
        with pytest.raises(UserError, match=words):
            attempt()
    assert (folder / LOG).read_bytes() == before
    store.undo()
    with pytest.raises(UserError, match="taken back"):
        store.change(4, TIE, "human")
    with closing(reopened(folder)) as read, pytest.raises(UserError, match="reading only"):
        read.undo()


def test_a_reader_in_another_thread_sees_each_answer_whole(store: PreferenceStore, folder: Path) -> None:
    done, seen, failures = threading.Event(), list[int](), list[BaseException]()

    def read() -> None:
        try:
            with closing(reopened(folder)) as reader:
                while not done.is_set():
                    seen.append(len(list(reader.iter_records())))
                    with closing(reopened(folder)) as fresh:
                        list(fresh.answers(fresh.rows()[-1].id))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(40):
        store.add(query(number), LEFT, "human")
    done.set()
    thread.join()
    assert not failures and seen == sorted(seen)


WRITER = """
import sys
from pathlib import Path
from core.preferences.store import PreferenceStore
from core.types import Choice
from tests.core.builders import query
store = PreferenceStore(Path(sys.argv[1]))
for number in range(1000):
    store.add(query(number), Choice.RIGHT, "human")
    store.change(number + 1, Choice.TIE, "human")
    print(number, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("answers", [1, 7])
def test_after_a_kill_every_answer_is_there(folder: Path, answers: int) -> None:
    child = subprocess.Popen([sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert child.stdout is not None
    printed = [child.stdout.readline() for _ in range(answers)]
    os.kill(child.pid, signal.SIGKILL)
    printed += child.stdout.readlines()
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    shown = len([line for line in printed if line.endswith("\n")])
    found = labels(folder)
    assert shown >= answers and found[:shown] == [(number + 1, TIE) for number in range(shown)]
    assert len(found) <= shown + 1  # the last one may be on disk without having been shown
    with closing(PreferenceStore(folder)) as store:
        assert store.add(query(5), LEFT, "human").id == len(found) + 1


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, bytes]:
    """What a disk has that keeps nothing but what was synced: files by name. A folder's sync keeps its names."""
    disk: dict[str, bytes] = {}
    contents: dict[int, bytes] = {}

    def sync(descriptor: int) -> None:
        node = os.fstat(descriptor).st_ino
        if node == folder.stat().st_ino:
            disk.clear()
            disk.update({path.name: contents.get(path.stat().st_ino, b"") for path in folder.iterdir()})
            return
        for path in folder.iterdir():
            if path.stat().st_ino == node:
                contents[node] = path.read_bytes()
                if path.name in disk:
                    disk[path.name] = contents[node]

    monkeypatch.setattr(os, "fsync", sync)
    return disk


def on_disk(disk: dict[str, bytes], place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, content in disk.items():
        (place / name).write_bytes(content)
    return place


@needs_posix
def test_what_was_acknowledged_survives_a_power_cut(folder: Path, tmp_path: Path, synced: dict[str, bytes]) -> None:
    """Each answer is read from what was synced alone, by a program that was not there before."""
    with closing(PreferenceStore(folder)) as store:
        for number in range(3):
            store.add(query(number), LEFT, "human")
            store.change(number + 1, TIE, "human")
            assert labels(on_disk(synced, tmp_path / "after")) == [(key + 1, TIE) for key in range(number + 1)]
        store.undo()
        assert labels(on_disk(synced, tmp_path / "after")) == [(1, TIE), (2, TIE)]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space"), OSError(errno.EIO, "I/O"), KeyboardInterrupt()])
def test_a_write_that_fails_anywhere_loses_nothing_and_can_be_repeated(
    store: PreferenceStore, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Lets the first, second, ... system call of an action fail, until the action succeeds."""
    actions: list[Callable[[], object]] = [
        lambda: store.add(query(8), RIGHT, "human"),
        store.undo,
        lambda: store.change(1, TIE, "human"),
    ]
    for act in actions:
        for failing in range(1, 10):
            before, left = labels(folder), [failing]

            def call(original: Callable[..., Any], *args: Any, left: list[int] = left, **given: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    raise error
                return original(*args, **given)

            with monkeypatch.context() as patch:
                for owner in (os.fsync, os.open, os.replace, os.unlink):
                    patch.setattr(os, owner.__name__, functools.partial(call, owner))
                try:
                    act()
                except UserError as told:
                    assert "\n" not in str(told) and "can't be" in str(told)
                    assert labels(folder) == before
                except KeyboardInterrupt:
                    assert labels(folder) in (before, [*before, (before[-1][0] + 1, RIGHT)])
            if left[0] > 0:
                break
        else:
            pytest.fail("it was never let through")
    assert labels(folder)[0] == (1, TIE)


def test_a_line_torn_by_a_crash_is_dropped_and_overwritten(store: PreferenceStore, folder: Path) -> None:
    store.add(query(5), LEFT, "human")
    store.close()
    content = (folder / LOG).read_bytes()
    (folder / "00000004.safetensors").rename(folder / "00000004.part")  # renamed last
    for size in range(content.rindex(b"\n", 0, -1) + 1, len(content), 50):
        (folder / LOG).write_bytes(content[:size])
        assert labels(folder) == [(1, LEFT), (2, RIGHT), (3, TIE)]
    (folder / LOG).write_bytes(content)
    assert labels(folder)[-1] == (4, LEFT)  # a crash before the file was renamed
    (folder / LOG).write_bytes(content[:-9])
    with closing(PreferenceStore(folder)) as store:
        assert store.add(query(6), TIE, "human").id == 4
    assert labels(folder)[-1] == (4, TIE)
    (folder / "00000004.safetensors").rename(folder / "00000004.part")
    PreferenceStore(folder).close()
    assert (folder / "00000004.safetensors").exists()  # from now on, a lost line is noticed


def line(number: int, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Damage that changes a line of the log and gives it a valid checksum."""

    def damage(folder: Path) -> None:
        lines = (folder / LOG).read_bytes().splitlines()
        body = json.loads(lines[number])
        del body["crc"]
        change(body)
        text = json.dumps(body, separators=(",", ":"))[:-1].encode()
        lines[number] = b'%s,"crc":"%08x"}' % (text, zlib.crc32(text))
        (folder / LOG).write_bytes(b"\n".join(lines) + b"\n")

    return damage


def lines(choose: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], object]:
    return lambda folder: (folder / LOG).write_bytes(
        b"".join(choose((folder / LOG).read_bytes().splitlines(keepends=True)))
    )


def flipped(name: str, at: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[at] ^= 1
        (folder / name).write_bytes(content)

    return damage


def answer(**values: Any) -> Callable[[Path], None]:
    return line(1, lambda body: body["answer"].update(values))


DEEP = b'{"do":' + b"[" * 4000
SECOND = "00000002.safetensors"
DAMAGE: dict[str, tuple[Callable[[Path], object], str, tuple[int, int] | None]] = {
    # what is done; words of the sentence; how many answers rescue finds, and how many it knows to be lost
    "a flipped bit of a line": (
        flipped(LOG, 400),
        "log.jsonl is damaged (line 2: it is too long, or its checksum",
        (3, 0),
    ),
    "a flipped bit of a segment": (flipped(SECOND, -40), f"{SECOND} is damaged (it does not match", (2, 1)),
    "a truncated file": (lambda folder: os.truncate(folder / SECOND, 300), f"{SECOND} is damaged", (2, 1)),
    "a missing file": (lambda folder: (folder / SECOND).unlink(), f"{SECOND} is missing", (2, 1)),
    "files that changed places": (
        lambda folder: shutil.copy(folder / "00000003.safetensors", folder / SECOND),
        f"{SECOND} is damaged (it does not match its checksum, or belongs to another answer)",
        (2, 1),
    ),
    "an empty log": (lines(lambda all: []), "has lost 3 answers at its end", (3, 0)),
    "no log": (lambda folder: (folder / LOG).unlink(), "log.jsonl is missing", (3, 0)),
    "a lost line in the middle": (lines(lambda all: all[:1] + all[2:]), "a line before it is missing", (3, 0)),
    "a line that is there twice": (lines(lambda all: all[:2] + all[1:]), "there twice", (3, 0)),
    "a long line": (lines(lambda all: [b"x" * 5000 + b"\n", *all]), "line 1: it is too long", (3, 0)),
    "deep JSON": (lines(lambda all: [*all, DEEP + b',"crc":"%08x"}\n' % zlib.crc32(DEEP)]), "line 4: ", (3, 0)),
    "a huge log": (lambda folder: os.truncate(folder / LOG, 20 << 20), "is too long", (3, 0)),
    "a number of no answer": (answer(id=10**30), "line 2: ", (3, 0)),
    "an infinite time": (answer(answered_at=10**400), "line 2: ", (2, 1)),
    "another choice": (answer(choice="maybe"), "line 2: 'maybe' is not a valid Choice", (2, 1)),
    "a choice that the file does not have": (answer(choice="tie"), f"{SECOND} is damaged (it does not", (2, 1)),
    "a repeat of itself": (answer(repeats=2, left=None, right=None), "line 2: ", (2, 1)),
    "an undo of nothing": (line(2, lambda body: body.update(do="undo", id=9)), "line 3: 9", (3, 0)),
    "a command of nobody": (line(2, lambda body: body.update(do="import os", id=1)), "it can't 'import os'", (3, 0)),
    "all in ruins": (
        lambda folder: [path.write_bytes(b"\0" * 99) for path in folder.iterdir()],
        "has lost 3 answers",
        None,
    ),
}
if os.name != "nt":

    def instead(make: Callable[[Path], object], name: str = SECOND) -> Callable[[Path], None]:
        def damage(folder: Path) -> None:
            (folder / name).rename(folder.parent / "moved")
            make(folder / name)

        return damage

    DAMAGE |= {
        "a link": (
            instead(lambda path: path.symlink_to(path.parent.parent / "moved")),
            f"{SECOND} can't be read",
            (2, 1),
        ),
        "a pipe": (instead(os.mkfifo), f"{SECOND} can't be read (not a regular file)", (2, 1)),
        "a huge file": (lambda folder: os.truncate(folder / SECOND, 3 << 30), "not believable", (2, 1)),
        "a pipe for a log": (instead(os.mkfifo, LOG), "log.jsonl can't be read (not a regular file)", (3, 0)),
        "a link for a log": (
            instead(lambda path: path.symlink_to(path.parent.parent / "moved"), LOG),
            "log.jsonl can't be read",
            (3, 0),
        ),
    }


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_in_a_sentence_and_the_rest_is_rescued(
    store: PreferenceStore, folder: Path, tmp_path: Path, name: str
) -> None:
    store.close()
    damage, words, saved = DAMAGE[name]
    damage(folder)
    with pytest.raises(UserError) as refused, closing(PreferenceStore(folder)) as damaged:
        list(damaged.iter_records())
    assert words in one_sentence(refused) and str(folder) in str(refused.value)
    if saved is None:
        with pytest.raises(UserError, match="no answer that can be read"):
            rescue(folder)
        return
    contents, count, lost = rescue(folder)
    assert (count, lost) == saved
    new = tmp_path / "new"
    new.mkdir()
    for file, content in contents:
        (new / file).write_bytes(content)
    with closing(PreferenceStore(new)) as read:
        assert len(list(read.iter_records())) == count
        assert read.add(query(20), LEFT, "human").id > count
    assert {(1, LEFT), (3, TIE)} - set(labels(new)) <= {(3, TIE)} and len(labels(new)) == count + 1


def test_a_rescue_keeps_what_was_undone_changed_and_repeated(
    store: PreferenceStore, folder: Path, tmp_path: Path
) -> None:
    store.add(again(store, 2), RIGHT, "human")
    store.change(1, CANT_TELL, "oracle")
    store.undo()
    store.add(query(9), LEFT, "human")
    store.add(query(10), TIE, "human")
    store.undo()
    before = store.rows()
    store.close()
    (folder / "00000003.safetensors").unlink()
    contents, count, lost = rescue(folder)
    (tmp_path / "new").mkdir()
    for name, content in contents:
        (tmp_path / "new" / name).write_bytes(content)
    with closing(reopened(tmp_path / "new")) as read:
        assert (count, lost) == (5, 1) and read.rows() == [row for row in before if row.id != 3]


@needs_posix
def test_writing_follows_no_link(store: PreferenceStore, folder: Path, tmp_path: Path) -> None:
    """Whoever made the folder may have pointed its files at the person's own."""
    own = tmp_path / "own"
    own.write_text("mine")
    (folder / "00000004.part").symlink_to(own)
    (folder / "00000005.part").hardlink_to(own)
    store.add(query(4), LEFT, "human")
    store.add(query(5), LEFT, "human")
    assert own.read_text() == "mine"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a link"):
        PreferenceStore(folder)


def test_a_store_that_is_only_listed_or_counted_reads_no_segment(store: PreferenceStore, folder: Path) -> None:
    store.close()
    for path in folder.glob("*.safetensors"):
        path.write_bytes(b"")
    with closing(reopened(folder)) as read:
        assert read.count() == len(read.rows()) == 3 and len(list(read.forms())) == 6

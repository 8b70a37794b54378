"""The server of the page for votes: one page, one vote per guest, and a refusal of any other request."""

from __future__ import annotations

import contextlib
import http.client
import re
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from core.events import JobSpec
from core.jobs.job_process import JobProcess
from core.service_events import VoteOpened, VotesCounted, VotingServed
from core.voting.ballot import Ballot
from core.voting.server import VotingServer, local_address
from tests.core.builders import raising
from tests.core.children import next_of
from tests.core.voting.voter import ask, vote
from tests.network import NETWORKED


@pytest.fixture
def server() -> Iterator[VotingServer]:
    made = VotingServer("127.0.0.1", Ballot())
    made.ballot.open(1, 60)
    yield made
    made.close()


def test_the_server_has_one_page_without_cookies_or_external_content(server: VotingServer) -> None:
    status, headers, content = ask(server.url)
    assert status == 200 and b'"round": 1' in content and len(content) < 8000
    assert "set-cookie" not in headers and "default-src 'none'" in headers["content-security-policy"]
    assert not re.search(rb"(src|href)=|https?:", content)


def test_a_connection_beyond_the_limit_is_closed_at_once() -> None:
    with contextlib.closing(VotingServer("127.0.0.1", Ballot(), connections=8)) as server:
        open_ones = [socket.create_connection(server.server_address) for _ in range(8)]
        with socket.create_connection(server.server_address) as another, contextlib.suppress(ConnectionResetError):
            assert another.recv(1) == b""
        for connection in open_ones:
            connection.close()


def test_a_vote_counts_once_and_late_ones_do_not(server: VotingServer) -> None:
    assert vote(server.url, "a" * 32)[2] == b"counted\n"
    assert vote(server.url, "a" * 32, choice="right")[2] == b"changed\n"
    server.ballot.open(2, 60)
    assert vote(server.url, "a" * 32)[2] == b"late\n"
    assert server.ballot.counts() == {"left": 0, "tie": 0, "right": 0}


@pytest.mark.parametrize(
    ("method", "body", "kind", "status"),
    [
        ("POST", b'{"voter": "abc", "round": 1, "choice": "left"}', "application/json", 400),
        ("POST", b'{"voter": "%s", "round": 1, "choice": "can\'t tell"}' % (b"a" * 32), "application/json", 400),
        ("POST", b'{"voter": "%s", "round": true, "choice": "left"}' % (b"a" * 32), "application/json", 400),
        ("POST", b'{"voter": "%s", "round": 1, "choice": ["left"]}' % (b"a" * 32), "application/json", 400),
        ("POST", b"[" * 200, "application/json", 400),
        ("POST", b"\xff\xfe\x00", "application/json", 400),
        ("POST", b'{"voter": "%s", "round": 1, "choice": "left"}' % (b"a" * 32), "text/plain", 400),
        ("POST", b"x" * 257, "application/json", 413),
        ("PUT", b"{}", "application/json", 501),
        ("OPTIONS", b"", "application/json", 501),
    ],
)
def test_an_invalid_vote_is_refused(server: VotingServer, method: str, body: bytes, kind: str, status: int) -> None:
    assert ask(server.url, method, body, Content_Type=kind)[0] == status
    assert not server.ballot.votes()


def test_a_mistake_in_the_program_is_logged(
    server: VotingServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Ballot, "vote", raising(RuntimeError("no ballot")))
    with contextlib.suppress(http.client.HTTPException, OSError):
        vote(server.url, "a" * 32)
    monkeypatch.undo()
    assert vote(server.url, "b" * 32)[2] == b"counted\n"
    assert "no ballot" in caplog.text


def test_another_path_or_host_name_is_refused(server: VotingServer) -> None:
    assert ask(server.url + "x")[0] == ask(server.url.rpartition("/")[0] + "/")[0] == 404
    assert ask(server.url, Host="elsewhere.example")[0] == 404


def test_a_mistyped_address_is_answered_with_a_sentence(server: VotingServer) -> None:
    server.path = "/abc123"
    for path in ("/abc123/", "/ABC123"):
        status, _, content = ask(f"http://{server.authority}{path}")
        assert status == 404 and b"check the address, in small letters" in content


def test_garbage_and_partial_requests_disturb_no_one(server: VotingServer) -> None:
    host, port = server.authority.split(":")
    held = []
    for content in (
        *(secrets.token_bytes(3000), b"\r\n\r\n", b"GET " + b"a" * 70_000, b"GET / HTTP/9.9\r\n\r\n"),
        *(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000, b"GET /"),
    ):
        raw = socket.create_connection((host, int(port)))
        raw.sendall(content)
        held.append(raw)
    assert vote(server.url, "b" * 32)[2] == b"counted\n"
    for raw in held:
        raw.close()


def test_a_request_that_arrives_too_slowly_ends() -> None:
    """Each byte follows soon after the previous one, but the whole request takes longer than allowed."""
    with contextlib.closing(VotingServer("127.0.0.1", Ballot(), seconds=0.3)) as server:
        host, port = server.authority.split(":")
        sent, ended = 0, False
        with socket.create_connection((host, int(port))) as client:
            client.settimeout(0.02)
            while not ended:
                try:
                    sent += client.send(b"G")
                    ended = client.recv(100) == b""
                except TimeoutError:
                    continue
                except OSError:
                    ended = True
        assert sent < 1000  # a request also ends at its limit of 8,448 bytes


def test_a_header_beyond_eight_kilobytes_is_not_read(server: VotingServer) -> None:
    host, port = server.authority.split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 30_000 + b"\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):  # because a part was not read
            assert not raw.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_phones_that_share_an_address_all_vote(server: VotingServer) -> None:
    """Phones behind one router share an address."""
    for number in range(40):
        assert ask(server.url)[0] == 200
        assert vote(server.url, f"{number:032x}")[2] == b"counted\n"


@pytest.mark.skipif(not NETWORKED, reason="this machine is in no network")
def test_the_server_listens_on_one_address_and_only_while_switched_on() -> None:
    address = local_address()
    child = JobProcess(JobSpec("voting", {}))
    child.start()
    try:
        served = next_of(child, VotingServed)
        assert served.url.startswith(f"http://{address}:")
        child.send(VoteOpened(5, 5.0))
        next_of(child, VotesCounted, lambda event: event.round == 5)
        assert vote(served.url, "d" * 32, 5, "right")[2] == b"counted\n"  # from an address other than the loopback
        final = next_of(child, VotesCounted, lambda event: event.final)
        assert final.counts == {"left": 0, "tie": 0, "right": 1}
        connections = [c for process in psutil.Process().children() for c in process.net_connections("inet")]
        assert [c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN] == [address]
    finally:
        child.stop()
    with pytest.raises(ConnectionError):
        ask(served.url)


@pytest.mark.slow
def test_no_vote_of_two_hundred_simultaneous_voters_is_lost() -> None:
    """Each voter polls the page like a phone, and votes in ten rounds."""
    voters, rounds, ballot = 200, 10, Ballot()
    server = VotingServer("127.0.0.1", ballot)
    verdicts: Counter[str] = Counter()
    lock = threading.Lock()

    def guest(number: int) -> None:
        name = secrets.token_hex(16)
        for turn in range(1, rounds + 1):
            gates[turn].wait()
            ask(server.url)
            choice = "left" if number % 3 else "right"
            content = vote(server.url, name, turn, choice)[2].decode().strip()
            with lock:
                verdicts[content] += 1

    gates = {turn: threading.Event() for turn in range(1, rounds + 1)}
    threads = [threading.Thread(target=guest, args=(number,)) for number in range(voters)]
    for thread in threads:
        thread.start()
    results = []
    for turn in range(1, rounds + 1):
        ballot.open(turn, 600)
        gates[turn].set()
        deadline = time.monotonic() + 60
        while len(ballot.votes()) < voters and time.monotonic() < deadline:
            time.sleep(0.01)
        results.append(ballot.counts())
    for thread in threads:
        thread.join()
    server.close()
    assert results == [{"left": 133, "tie": 0, "right": 67}] * rounds
    assert verdicts == {"counted": voters * rounds}

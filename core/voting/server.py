"""The server of the voting page, which handles only GET of the page and POST of a vote.

It is reachable by all devices in the local network, so sizes, waiting times and the number of connections are limited,
and anything that is not a valid vote is rejected. It sets no cookies and logs no addresses.
"""

import contextlib
import io
import ipaddress
import json
import logging
import os
import re
import secrets
import socket
import socketserver
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from core.types import Choice
from core.voting.ballot import CHOICES, Ballot
from core.voting.page import page

log = logging.getLogger(__name__)

_MAX_BODY = 256
_MAX_HEAD = 8192
_ELSEWHERE = "192.0.2.1"
"""Address reserved for documentation, reachable only by the default route; for others, a VPN may have routes of its own."""
_GET_ADDRESS, _GET_FLAGS = 0x8915, 0x8913
"""Linux's SIOCGIFADDR and SIOCGIFFLAGS: the IPv4 address and the flags of an interface."""
_LOOPBACK, _POINT_TO_POINT, _RUNNING = 0x8, 0x10, 0x40
"""Flags of an interface: this machine itself, a tunnel such as a VPN's, connected."""
_WRONG_ADDRESS = b"There is no page here: check the address, in small letters and without anything after it.\n"
_VOTER = re.compile(r"[0-9a-f]{32}", re.ASCII)


class VotingServer(ThreadingHTTPServer):
    """Serves one page at `url` until `close`, in a thread of its own and one for each connection."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, host: str, ballot: Ballot, connections: int = 512, seconds: float = 5.0) -> None:
        """Listen on the address `host` only. Raises OSError if that fails.

        connections: largest number of open connections
        seconds: longest time in which a client must send its request, and receive each part of the reply
        """
        super().__init__((host, 0), _Handler)
        self.ballot, self._connections, self.seconds = ballot, connections, seconds
        self.path = f"/{secrets.token_hex(3)}"
        self.authority = f"{host}:{self.server_address[1]}"
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True, name="votes")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{self.authority}{self.path}"

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(
            self
        )  # HTTPServer's method would query the name server for this machine's name

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Reject a connection if too many are open, before the process runs out of file descriptors."""
        with self._lock:
            if len(self._open) >= self._connections:
                return False
            self._open.add(request)
            return True

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a mistake in the program; ignore errors of the connection, which has already been closed."""
        if not isinstance(sys.exception(), OSError):
            log.exception("A request of the voting page failed.")

    def close(self) -> None:
        """Stop listening, and end all connections."""
        self.shutdown()
        self.server_close()
        with self._lock:
            left = [*self._open]
        for request in left:
            with contextlib.suppress(OSError):  # it has already ended
                request.shutdown(socket.SHUT_RDWR)
        self._thread.join()


class _Request(io.RawIOBase):
    """Reader of one request's bytes, limited to the largest size of head and body, and in time."""

    def __init__(self, raw: socket.socket, seconds: float) -> None:
        self._raw, self._left = raw, _MAX_HEAD + _MAX_BODY
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._raw.settimeout(max(0.001, self._end - time.monotonic()))
        count = self._raw.recv_into(buffer, min(len(buffer), self._left)) if self._left else 0
        self._raw.settimeout(self._seconds)  # for the reply
        self._left -= count
        return count


class _Handler(BaseHTTPRequestHandler):
    server: VotingServer

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Request(self.connection, self.server.seconds), 1024)

    def version_string(self) -> str:
        return "Somersault"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, so that no address of a guest is written anywhere."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self._reply(code, _WRONG_ADDRESS if code == 404 else b"refused\n", "text/plain")

    def do_GET(self) -> None:
        if self._is_expected():
            nonce = secrets.token_urlsafe(12)
            ballot = self.server.ballot
            content = page(ballot.round, ballot.seconds_left, nonce)
            rules = f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'"
            self._reply(200, content, "text/html; charset=utf-8", rules)

    def do_POST(self) -> None:
        if not self._is_expected():
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json" or not length.isdecimal():
            self.send_error(400)
        elif len(length) > 4 or int(length) > _MAX_BODY:
            self.send_error(413)
        elif (found := _parse_vote(self.rfile.read(int(length)))) is None:
            self.send_error(400)
        else:
            verdict = self.server.ballot.vote(*found)
            self._reply(200, f"{verdict}\n".encode(), "text/plain")

    def _is_expected(self) -> bool:
        """Return whether the request is for the page and this host; otherwise send an error."""
        if self.path == self.server.path and self.headers.get("Host") == self.server.authority:
            return True
        self.send_error(404)  # also for another host name that resolves to this address (DNS rebinding)
        return False

    def _reply(self, code: int, content: bytes, kind: str, rules: str = "default-src 'none'") -> None:
        self.send_response(code)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", rules),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _parse_vote(content: bytes) -> tuple[str, int, Choice] | None:
    """Return voter, round and choice of a vote; None if the content is not exactly a vote."""
    try:
        values = json.loads(content)
    except ValueError:
        return None
    if not isinstance(values, dict) or values.keys() != {"voter", "round", "choice"}:
        return None
    voter, number, choice = values["voter"], values["round"], values["choice"]
    sound = isinstance(voter, str) and _VOTER.fullmatch(voter) and type(number) is int and choice in [*CHOICES]
    return (voter, number, Choice(choice)) if sound else None


def local_address() -> str:
    """Return this machine's address in its network, without sending data. Raises OSError without a network.

    On Linux, it is that of an interface that phones can reach, if there is one: neither that of a VPN, through which the
    default route may lead, nor that of a bridge to which nothing is connected. In a network without internet access, such
    as this machine's own hotspot, there is no default route.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        near, routed = _addresses_near(probe), ""
        try:
            probe.connect((_ELSEWHERE, 1))
            routed = str(probe.getsockname()[0])
        except OSError:
            if not near:
                raise
        return routed if not near or routed in near else near[0]


def _addresses_near(probe: socket.socket) -> list[str]:
    """Return the private addresses of Linux's interfaces that are connected to a network, those of bridges last."""
    if sys.platform != "linux":
        return []
    import fcntl  # not available on Windows

    found = list[tuple[bool, str]]()
    for _, name in socket.if_nameindex():
        request = struct.pack("256s", name.encode())
        with contextlib.suppress(OSError):  # it has no address
            address = ipaddress.ip_address(fcntl.ioctl(probe.fileno(), _GET_ADDRESS, request)[20:24])
            flags = int.from_bytes(fcntl.ioctl(probe.fileno(), _GET_FLAGS, request)[16:18], sys.byteorder)
            connected = flags & _RUNNING and not flags & (_POINT_TO_POINT | _LOOPBACK)
            if connected and address.is_private and not address.is_link_local:
                found.append((os.path.isdir(f"/sys/class/net/{name}/bridge"), str(address)))
    return [address for _, address in sorted(found, key=lambda one: one[0])]

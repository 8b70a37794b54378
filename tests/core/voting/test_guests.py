"""Votes from another machine of the network, by hand and by a browser.

The network is two namespaces of this machine with a virtual cable between them, so that nothing leaves the machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.voting.ballot import CHOICES
from tests.screens import ROOT, running

_HOST, _GUEST = "10.77.0.1", "10.77.0.2"
_SERVE = """
import json, time
from core.service_events import VoteOpened, VotesCounted, VotingServed
from core.voting.job import VotingJob
job = VotingJob()
for event in job.run():
    match event:
        case VotingServed(url):
            print(url, flush=True)
            job.receive(VoteOpened(1, 600.0))
        case VotesCounted():
            print(json.dumps(event.counts), flush=True)
        case _:
            time.sleep(0.02)
"""
_VOTE = """
import http.client, sys
host, path, *bodies = sys.argv[1:]
for body in bodies:
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    print(connection.sock.getsockname()[0], connection.getresponse().read().decode().strip())
"""


def _may_make_networks() -> bool:
    tools = all(map(shutil.which, ("ip", "unshare", "nsenter")))
    return tools and os.geteuid() == 0 and subprocess.run(["unshare", "--net", "true"], check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and _may_make_networks()), reason="only root can make networks"
)


class Network:
    """Two machines; `host` and `guest` are command prefixes that run a command in one of them."""

    def __init__(self) -> None:
        self._machines = [subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE) for _ in range(2)]
        here = os.readlink("/proc/self/ns/net")
        for machine in self._machines:
            while os.readlink(f"/proc/{machine.pid}/ns/net") == here:
                assert machine.poll() is None
        self.host, self.guest = (["nsenter", f"--net=/proc/{m.pid}/ns/net"] for m in self._machines)
        cable = f"link add cable type veth peer name cable netns {self._machines[1].pid}"
        for run, commands in (
            (self.host, (cable, f"addr add {_HOST}/24 dev cable")),
            (self.guest, (f"addr add {_GUEST}/24 dev cable",)),
            *((run, ("link set lo up", "link set cable up")) for run in (self.host, self.guest)),
            (self.host, ("route add default dev cable",)),
        ):
            for command in commands:
                subprocess.run([*run, "ip", *command.split()], check=True)

    def change(self, *commands: str) -> None:
        """Run these commands of `ip` on the host."""
        for command in commands:
            subprocess.run([*self.host, "ip", *command.split()], check=True)

    def close(self) -> None:
        for machine in self._machines:
            machine.communicate()


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network()
    yield made
    made.close()


@pytest.fixture
def served(network: Network) -> Iterator[subprocess.Popen[str]]:
    """Start the job that serves the page with an open round; it prints the address, then the counts as they change."""
    command = [*network.host, sys.executable, "-c", _SERVE]
    with running(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as job:
        yield job


def counts_after(job: subprocess.Popen[str], wanted: dict[str, int]) -> dict[str, int]:
    """Return the counts that the job prints, up to the wanted ones."""
    counts: dict[str, int] = {}
    while counts != {**dict.fromkeys(map(str, CHOICES), 0), **wanted}:
        counts = json.loads(job.stdout.readline())
    return counts


def test_a_guest_at_another_address_votes_once(network: Network, served: subprocess.Popen[str]) -> None:
    url = served.stdout.readline().strip()
    assert url.startswith(f"http://{_HOST}:")
    host, _, path = url.removeprefix("http://").partition("/")
    bodies = [json.dumps({"voter": "a" * 32, "round": number, "choice": choice}) for number, choice in _CHOICES]
    command = [*network.guest, sys.executable, "-c", _VOTE, host, f"/{path}", *bodies]
    replies = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert replies == [f"{_GUEST} counted", f"{_GUEST} changed", f"{_GUEST} late"]
    assert counts_after(served, {"right": 1})["left"] == 0


def address_in(network: Network) -> str:
    """Return the address that the page would have."""
    code = "from core.voting.server import local_address; print(local_address())"
    command = [*network.host, sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=True)
    return done.stdout.strip()


def test_a_network_without_internet_access_is_found(network: Network) -> None:
    """A hotspot of the presenter's own computer is such a network."""
    network.change("route del default")
    assert address_in(network) == _HOST


def test_the_address_is_not_that_of_a_vpn(network: Network) -> None:
    network.change(
        "link add vpn type veth peer name tunnel",
        "addr add 10.200.0.1/32 dev vpn",
        "link set vpn up",
        "link set tunnel up",
        "route add 10.0.0.0/8 dev vpn",
    )
    assert address_in(network) == _HOST


def test_the_address_is_not_that_of_a_vpn_that_carries_all_traffic(network: Network) -> None:
    if subprocess.run([*network.host, "ip", "tuntap", "add", "vpn", "mode", "tun"], check=False).returncode != 0:
        pytest.skip("this machine makes no tunnels")
    network.change(
        "addr add 10.8.0.2/24 dev vpn",
        "link set vpn up",
        "route add 0.0.0.0/1 dev vpn",
        "route add 128.0.0.0/1 dev vpn",
    )
    assert address_in(network) == _HOST


def test_a_bridge_to_which_nothing_is_connected_is_no_network(network: Network) -> None:
    """Programs for containers make one."""
    network.change(
        "route del default",
        "link add bridge type bridge",
        "addr add 172.17.0.1/16 dev bridge",
        "link set bridge up",
        "link add port type veth peer name end",
        "link set port master bridge up",
    )
    assert address_in(network) == _HOST
    network.change("link set cable down")
    for name in ("bridge", "cable"):
        state = [*network.host, "ip", "link", "show", name]
        while "LOWER_UP" in subprocess.run(state, capture_output=True, text=True, check=True).stdout:
            pass  # the kernel reports lost connections a little later
    with pytest.raises(subprocess.CalledProcessError) as failed:
        address_in(network)
    assert "OSError" in failed.value.stderr


_CHOICES = ((1, "left"), (1, "right"), (0, "left"))


class Browser:
    """Headless Chromium, controlled through its debugging pipe."""

    def __init__(self, run: list[str], folder: Path) -> None:
        (listens, writes), (reads, tells) = os.pipe(), os.pipe()
        self._write, self._read = os.fdopen(writes, "wb", buffering=0), os.fdopen(reads, "rb")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
        ]
        high = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (listens, tells)]  # leaves descriptors 3 and 4 free
        script = f'exec 3<&{high[0]} 4>&{high[1]}; exec "$@"'
        command = [*run, "bash", "-c", script, "bash", "chromium", *options, "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=high, **quiet)
        for pipe in (listens, tells, *high):
            os.close(pipe)
        self._number, self._session = 0, {}
        self.requested: list[str] = []
        """Addresses that the page asked for."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self.call("Network.enable")

    def call(self, method: str, **values: Any) -> Any:
        return self._reply(method, values)["result"]

    def _reply(self, method: str, values: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        request = {"id": self._number, "method": method, "params": values, **self._session}
        self._write.write(json.dumps(request).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("method") == "Network.requestWillBeSent":
                self.requested.append(reply["params"]["request"]["url"])
            if reply.get("id") == self._number:
                return reply

    def _next(self) -> dict[str, Any]:
        content = bytearray()
        while (byte := self._read.read(1)) != b"\0":
            assert byte, "the browser has ended"
            content += byte
        return json.loads(content)

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until this expression is true on the page; the time of the test is the limit."""
        promise = (
            f"new Promise(done => {{ const look = () => ({expression}) ? done(1) : setTimeout(look, 20); look() }})"
        )
        while "result" not in self._reply("Runtime.evaluate", {"expression": promise, "awaitPromise": True}):
            pass  # the previous page was still loaded

    def close(self) -> None:
        self._session = {}
        self.call("Browser.close")
        self._process.wait()
        self._write.close()
        self._read.close()


@pytest.fixture
def browser(network: Network, tmp_path: Path) -> Iterator[Callable[[], Browser]]:
    if not shutil.which("chromium"):
        pytest.skip("there is no chromium")
    made = Browser(network.guest, tmp_path / "browser")
    yield made
    made.close()


def test_a_browser_shows_the_round_and_votes_by_its_buttons(browser: Browser, served: subprocess.Popen[str]) -> None:
    url = served.stdout.readline().strip()
    browser.call("Page.navigate", url=url)
    browser.wait_for(
        "!document.querySelector('[data-choice=left]')?.disabled && document.getElementById('left').textContent"
    )
    assert 0 < int(browser.value("document.getElementById('left').textContent")) <= 600
    browser.value("document.querySelector('[data-choice=left]').click()")
    browser.wait_for("document.getElementById('told').textContent.startsWith('Vote recorded')")
    assert counts_after(served, {"left": 1})
    browser.value("document.querySelector('[data-choice=right]').click()")
    browser.wait_for("document.getElementById('told').textContent === 'Your vote was changed.'")
    assert browser.value("document.querySelector('.chosen').dataset.choice") == "right"
    assert counts_after(served, {"right": 1})
    assert browser.value("document.cookie") == "" and browser.call("Network.getCookies")["cookies"] == []
    assert {*browser.requested} == {url}

"""Simulated guests: each polls the page for votes and votes once a second.

    .venv/bin/python -m tests.benchmarks.voters URL --voters 200 --seconds 60

Runs in its own process next to the window that serves the page. Prints one JSON object: the replies and their times, the
requests without a reply, and the last counted vote of each guest, by round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import secrets
import time
from collections import Counter, defaultdict

_TIMEOUT_SECONDS = 20.0


class Audience:
    """All guests, and the outcome of their votes."""

    def __init__(self, url: str) -> None:
        found = re.fullmatch(r"http://([\d.]+):(\d+)(/.*)", url)
        assert found, url
        self._host, self._port, self._path = found[1], int(found[2]), found[3]
        self.verdicts: Counter[str] = Counter()
        self.unanswered: list[str] = []
        self.seconds: list[float] = []
        self.last: defaultdict[int, dict[str, str]] = defaultdict(dict)

    async def guest(self, until: float) -> None:
        voter = secrets.token_hex(16)
        turn = time.monotonic() + random.random()
        while turn < until:
            await asyncio.sleep(turn - time.monotonic())
            turn += 1.0
            try:
                state = re.search(rb'\{"round": (\d+), "seconds": ([\d.]+)\}', await self._ask("GET", b""))
                if state and float(state[2]) > 0:
                    await self._vote(voter, int(state[1]))
            except (OSError, TimeoutError, EOFError) as error:
                self.unanswered.append(repr(error))

    async def _vote(self, voter: str, number: int) -> None:
        choice = random.choice(["left", "left", "right", "tie"])
        content = json.dumps({"voter": voter, "round": number, "choice": choice}).encode()
        began = time.monotonic()
        reply = await self._ask("POST", content)
        self.seconds.append(time.monotonic() - began)
        verdict = reply.rpartition(b"\r\n\r\n")[2].decode().strip()
        self.verdicts[verdict] += 1
        if verdict in ("counted", "changed"):
            self.last[number][voter] = choice

    async def _ask(self, method: str, content: bytes) -> bytes:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(self._host, self._port)
            head = f"{method} {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
            writer.write(head.encode() + content)
            reply = await reader.read(-1)
            writer.close()
        if not reply:
            raise EOFError("closed without a reply")
        return reply


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--voters", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    audience, until = Audience(options.url), time.monotonic() + options.seconds
    await asyncio.gather(*(audience.guest(until) for _ in range(options.voters)))
    taken = sorted(audience.seconds) or [float("nan")]
    result = {
        "verdicts": audience.verdicts,
        "unanswered": len(audience.unanswered),
        "why_unanswered": Counter(audience.unanswered),
        "reply_median_ms": round(1000 * taken[len(taken) // 2], 1),
        "reply_p99_ms": round(1000 * taken[len(taken) * 99 // 100], 1),
        "last": audience.last,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main())

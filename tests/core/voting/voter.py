"""Requests of a guest's phone to the server of votes."""

from __future__ import annotations

import http.client
import json
import re

Reply = tuple[int, dict[str, str], bytes]
"""Status, headers by their names in small letters, and content."""


def ask(url: str, method: str = "GET", body: bytes = b"", **headers: str) -> Reply:
    host, port, path = re.fullmatch(r"http://([\d.]+):(\d+)(/.*)", url).groups()
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    connection.request(method, path, body or None, {name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, {name.lower(): value for name, value in reply.getheaders()}, content


def vote(url: str, voter: str, number: int = 1, choice: str = "left") -> Reply:
    body = json.dumps({"voter": voter, "round": number, "choice": choice}).encode()
    return ask(url, "POST", body, Content_Type="application/json")

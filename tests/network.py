"""Detection of a local network, independent of the code under test."""

import ipaddress
import socket
from pathlib import Path

_ROUTES = Path("/proc/net/route")


def _is_networked() -> bool:
    if not _ROUTES.exists() or not any(line.split()[1] == "0" * 8 for line in _ROUTES.read_text().splitlines()[1:]):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # sends nothing
        probe.connect(("192.0.2.1", 1))
        return not ipaddress.ip_address(probe.getsockname()[0]).is_global


NETWORKED = _is_networked()
"""Whether Linux has a default route from an address that the Internet can't reach; False on other systems."""

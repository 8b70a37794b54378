"""Whether this machine is in a network, found out without the code under test."""

from pathlib import Path

_ROUTES = Path("/proc/net/route")
NETWORKED = _ROUTES.exists() and any(line.split()[1] == "0" * 8 for line in _ROUTES.read_text().splitlines()[1:])
"""Whether Linux has a default route; False on other systems."""

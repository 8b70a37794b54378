"""What a person types to start the program: from the source folder, or from a frozen bundle."""

from __future__ import annotations

import sys

FROZEN = bool(getattr(sys, "frozen", False))
WINDOW = "somersault" if FROZEN else "python -m app"
_WITHOUT_WINDOW = "somersault-cli" if sys.platform == "win32" else "somersault"
COMMAND_LINE = _WITHOUT_WINDOW if FROZEN else "python -m core"

"""Convert resources/logo.svg to an .ico for Windows. Runs in the build environment: icon.py TARGET.ico"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtGui import QGuiApplication, QIcon

_LOGO = Path(__file__).resolve().parent.parent / "resources" / "logo.svg"
_PIXELS = 256


def main(target: str) -> int:
    application = QGuiApplication([])
    drawn = QIcon(str(_LOGO)).pixmap(_PIXELS, _PIXELS).save(target, "ICO")
    application.quit()
    return 0 if drawn else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Write constraints.txt: the exact versions of the test and build environments.

.venv/bin/python packaging/lock.py .venv packaging/build/cpu/venv

Each library has one version; it is an error if two environments differ.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_HEADER = "# The versions that the tests ran with. Made by lock.py; pip takes it as --constraint, on any system.\n"


def pins(listed: str) -> dict[str, str]:
    """Versions by name from the output of `pip freeze`, without suffixes such as +cpu."""
    pairs = (line.split("==") for line in listed.splitlines() if "==" in line)
    return {name.lower().replace("_", "-"): version.partition("+")[0] for name, version in pairs}


def merged(environments: list[dict[str, str]]) -> dict[str, str]:
    """Merge the versions of several environments. Raises ValueError if a library has two versions."""
    together: dict[str, str] = {}
    for environment in environments:
        for name, version in environment.items():
            if together.setdefault(name, version) != version:
                raise ValueError(f"{name} has the versions {together[name]} and {version}.")
    return together


def _listed(environment: str) -> str:
    python = next(path for path in Path(environment).glob("*/python*") if path.stem == "python")
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "freeze", "--exclude-editable"]
    return subprocess.check_output(command, text=True)


def main(environments: list[str]) -> None:
    try:
        versions = merged([pins(_listed(environment)) for environment in environments])
    except ValueError as error:
        sys.exit(str(error))
    lines = [f"{name}=={versions[name]}\n" for name in sorted(versions)]
    (HERE / "constraints.txt").write_text(_HEADER + "".join(lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

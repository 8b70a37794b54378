"""Write constraints.txt: the exact versions in the environments that the tests ran in and the bundle is made in.

.venv/bin/python packaging/lock.py .venv packaging/build/cpu/venv

Each library has one version in it; where two environments differ, that is an error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_HEADER = "# The versions that the tests ran with. Made by lock.py; pip takes it as --constraint, on any system.\n"


def pins(listed: str) -> dict[str, str]:
    """pip's list of an environment -> version by name. +cpu and the like say how torch was built, not which it is."""
    pairs = (line.split("==") for line in listed.splitlines() if "==" in line)
    return {name.lower().replace("_", "-"): version.partition("+")[0] for name, version in pairs}


def merged(environments: list[dict[str, str]]) -> dict[str, str]:
    """ValueError where the same library has two versions."""
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

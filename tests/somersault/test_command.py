"""The `somersault` command: the part of the program that it starts, its help, and completions in shells."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from core.__main__ import make_parser
from tests.screens import ROOT, pipe_that_nobody_reads, run_python

HEAVY = "print([name for name in ('torch', 'mujoco', 'gymnasium', 'cv2', 'ale_py', 'PySide6') if name in sys.modules])"
_WATCHED = f"""
import sys
sys.argv = {{argv}}
from somersault.__main__ import main
import app.__main__, core.__main__
app.__main__.main = lambda: print('window', sys.argv[1:])
core.__main__.main = lambda: print('engine', sys.argv[1:])
main()
{HEAVY}
"""


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """The command as installed by pip: a script without a suffix, which child processes import as well."""
    path = tmp_path / "bin" / "somersault"
    path.parent.mkdir()
    path.write_text(
        f"#!{sys.executable}\nimport sys\nfrom somersault.__main__ import main\n"
        "if __name__ == '__main__':\n    sys.exit(main())\n"
    )
    path.chmod(0o755)
    return path


def test_the_metadata_name_a_function_and_every_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    module, _, name = settings["project"]["scripts"]["somersault"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    packed = {pattern.rstrip("*") for pattern in settings["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packed == {"core", "app", "somersault", "resources", "docs"}


@pytest.mark.parametrize(
    ("words", "part"),
    [("", "window"), ("--task pong", "window"), ("teach pong", "engine")],
)
def test_a_command_starts_the_engine_and_anything_else_the_window(words: str, part: str) -> None:
    done = run_python("-c", _WATCHED.format(argv=["somersault", *words.split()]))
    assert done.stdout.splitlines() == [f"{part} {words.split()}", "[]"], done.stderr


def test_the_help_has_all_commands_and_the_windows_options() -> None:
    helped = run_python("-m", "somersault", "--help").stdout
    listed = make_parser().format_help().partition("{")[2].partition("}")[0].split(",")
    assert [word for word in (*listed, "completion", "--task", "--session") if word not in helped] == []


def test_messages_name_the_typed_command(command: Path) -> None:
    for words, named in ((["teech"], "somersault --help"), (["--teech"], "somersault --help")):
        done = run_python(command, *words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and named in done.stderr
    done = run_python(command, "completion", "tcsh")
    assert done.returncode == 2 and "choose from 'bash', 'zsh', 'fish'" in done.stderr


def test_completions_to_a_closed_pipe_are_dropped_silently(command: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with pipe_that_nobody_reads() as pipe:
        done = subprocess.run(
            [command, "completion", "bash"], env=environ, stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("line", "candidate"),
    [
        ("somersault ev", "evaluate"),
        ("somersault teach hopper-b", "hopper-backflip"),
    ],
)
def test_bash_completes_a_line(command: Path, line: str, candidate: str) -> None:
    words = line.split()
    script = f"""eval "$(somersault completion bash)"
        COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}; COMP_TYPE=9
        _python_argcomplete somersault {words[-1]!r} {words[-2]!r}; echo "${{COMPREPLY[@]}}" """
    environ = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == candidate

"""Help and shell completion of the command line."""

import argparse

import argcomplete
from argcomplete.completers import BaseCompleter, FilesCompleter

from app.command_line import add_options
from core.__main__ import CommandParser, add_commands
from core.io.error_stream import drop_stdout, flush_stdout
from core.tasks import CATALOGUE, behaviours
from core.version import VERSION

SHELLS = ("bash", "zsh", "fish")
_DESCRIPTION = (
    "Teach a simulated robot a behaviour by choosing the better of two clips. Without a command, a window opens."
)


def main() -> int:
    """Complete a line for the shell, or run --help or `completion`."""
    parser = make_parser()
    argcomplete.autocomplete(parser, default_completer=_Words())  # ends the process if a shell completes
    options = parser.parse_args()
    try:
        print(argcomplete.shellcode(["somersault"], shell=options.shell))
        flush_stdout()
    except BrokenPipeError:  # the program that read the output has ended, such as `head`
        drop_stdout()
        return 1
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Build the parser of all that follows `somersault`: the window's options and the engine's commands."""
    parser = CommandParser("somersault", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"somersault {VERSION}")
    add_options(parser.add_argument_group("the window"))
    commands = parser.add_subparsers(dest="command", title="commands")
    add_commands(commands)
    completion = commands.add_parser(
        "completion", help='print the completions for a shell: eval "$(somersault completion bash)"'
    )
    completion.add_argument("shell", choices=SHELLS)
    return parser


class _Words(BaseCompleter):
    """Words that can follow for an argument without choices: names of tasks, and files."""

    def __call__(
        self,
        *,
        prefix: str,
        action: argparse.Action,
        parser: argparse.ArgumentParser,
        parsed_args: argparse.Namespace,
    ) -> list[str]:
        files = FilesCompleter()(prefix, action=action, parser=parser, parsed_args=parsed_args)
        tasks = (*CATALOGUE, *behaviours()) if action.dest in ("task", "tasks") else ()
        return [*tasks, *files]

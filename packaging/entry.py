"""Entry point of the bundle: the window, or the headless engine for a command such as `teach`."""

import multiprocessing
import sys


def run() -> int:
    arguments = sys.argv[1:]
    if arguments and not arguments[0].startswith("-"):
        from core.__main__ import main
    else:
        from app.__main__ import main
    return main()


if __name__ == "__main__":
    multiprocessing.freeze_support()  # before other imports, because each child process starts here too
    sys.exit(run())

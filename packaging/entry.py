"""What the bundle starts with: the window, or for a command such as `teach` the engine without one."""

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
    multiprocessing.freeze_support()  # before any import of ours: each child process comes through here too
    sys.exit(run())

"""The `somersault` command: opens the window, or runs the headless engine if a command is given.

All imports are inside main(), because every child process imports this module.
"""


def main() -> int:
    import multiprocessing

    multiprocessing.freeze_support()  # first of all, or a frozen child would open a window of its own
    import os
    import sys

    arguments = sys.argv[1:]
    if "_ARGCOMPLETE" in os.environ or arguments[:1] in (["-h"], ["--help"], ["completion"]):
        from somersault.shell import main as run
    elif arguments and not arguments[0].startswith("-"):
        from core.__main__ import main as run
    else:
        from app.__main__ import main as run
    return run()


if __name__ == "__main__":
    raise SystemExit(main())

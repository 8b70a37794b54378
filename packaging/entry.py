"""Entry point of the bundle: the `somersault` command."""

import multiprocessing
import sys

if __name__ == "__main__":
    multiprocessing.freeze_support()  # before other imports, because each child process starts here too
    from somersault.__main__ import main

    sys.exit(main())

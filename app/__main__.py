"""python -m app: the window. All imports are inside main(), because every child process imports this module."""


def main() -> int:
    import multiprocessing

    multiprocessing.freeze_support()  # first of all, or a frozen child would open a window of its own
    import sys

    from app.command_line import parsed
    from app.display_check import open_display, show_error
    from core.errors import UserError
    from core.system.resources import WINDOW_MEMORY, require_memory, require_mujoco_gl

    try:
        arguments = sys.argv[1:]
        options = parsed(arguments)  # before Qt: bad arguments are reported even without a display
        open_display()
        require_mujoco_gl()
        require_memory(WINDOW_MEMORY)
        if options.self_test is not None:
            from app.self_test import self_test

            return self_test(options.self_test)
        from app.application import run

        return run(arguments)
    except UserError as error:
        show_error(error)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())

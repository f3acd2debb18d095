"""``python -m recx`` and the console script ``recx``."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; SIGTERM and Ctrl-C end it in one sentence from the first import on.

    Returns:
        The exit code.
    """
    try:
        from recx.core.system.signals import stoppable

        with stoppable():
            from recx.cli.main import main as run
        return run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130  # INTERRUPTED of recx.core.exit_codes, which was perhaps not imported yet
    finally:
        # Where an interrupt passes through a text that Python executes, such as the methods of a dataclass, Python ends
        # the process by a signal, whatever its exit code, unless it executes another text before.
        exec("")


if __name__ == "__main__":
    sys.exit(main())

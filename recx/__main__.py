"""``python -m recx`` and the console script ``recx``."""

from __future__ import annotations

import sys

from recx.core.system.screen import echo
from recx.tracking.process import stoppable


def main() -> int:
    """Run the command line; SIGTERM and Ctrl-C end it in one sentence from the first import on.

    Returns:
        The exit code.
    """
    try:
        with stoppable():
            from recx.cli.main import main as run
    except KeyboardInterrupt:
        echo("interrupted", to=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())

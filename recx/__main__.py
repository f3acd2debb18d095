"""``python -m recx``: the same as the console script ``recx``."""

from __future__ import annotations

import sys

from recx.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

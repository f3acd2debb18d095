"""``python -m recx ui``: look at all runs in MLflow, on this machine only."""

from __future__ import annotations

from collections.abc import Sequence

from recx.cli.commands.parser import Parser


def run(arguments: Sequence[str]) -> int:
    """Open MLflow's pages and stay until they are closed; see ``recx.tracking.ui``."""
    parser = Parser(prog="recx ui")
    parser.add_argument("--port", type=int, default=5000)
    parser.add_argument("--uri", default=None)
    chosen = parser.parse_args(arguments)
    from recx.tracking.ui import open_ui

    open_ui(chosen.uri, chosen.port)
    return 0

"""``python -m recx ui``: browse all runs in MLflow, on this machine only."""

from __future__ import annotations

from collections.abc import Sequence

from recx.cli.commands.parser import Parser
from recx.core.exit_codes import DONE


def run(arguments: Sequence[str]) -> int:
    """Serve MLflow's pages until they are closed; see ``recx.tracking.ui``."""
    chosen = parser().parse_args(arguments)
    from recx.tracking.ui import open_ui

    open_ui(chosen.run, chosen.uri, chosen.port)
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx ui", description="Browse all runs in MLflow, on this machine only.")
    parser.add_argument("run", nargs="?", default="", metavar="RUN", help="open the page of this MLflow run id")
    parser.add_argument("--port", type=int, default=5000, help="the port of the pages (%(default)s)")
    parser.add_argument("--uri", help="the tracking store (MLFLOW_TRACKING_URI, else the one under outputs)")
    return parser

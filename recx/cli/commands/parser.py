"""The argument parser of the commands."""

from __future__ import annotations

import argparse
from typing import NoReturn

from recx.core.errors import InputError

RUN = "a run's folder, its MLflow run id or name, best:EXPERIMENT, models:/NAME/VERSION, or last"
"""How a run can be given on the command line."""
URI = "the MLflow store to look in (MLFLOW_TRACKING_URI, and the one under outputs)"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ``InputError``, with exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Raise the message as an ``InputError`` that also names the help."""
        command = "help" if self.prog == "recx" else f"{self.prog.removeprefix('recx ')} --help"
        raise InputError(f"{self.prog}: {message}: see `python -m recx {command}`")


def columns_of(text: str | None) -> dict[str, str] | None:
    """Return role -> column of ``--columns``; None: it is not given.

    Raises:
        InputError: A pair has no role or no column.
    """
    if text is None:
        return None
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(role and column for role, _, column in pairs):
        raise InputError(f"--columns {text}: write ROLE=COLUMN for each, such as --columns user=uid,item=sku")
    return {role.strip(): column.strip() for role, _, column in pairs}

"""How a verb reads its words."""

from __future__ import annotations

import argparse
from typing import NoReturn

from recx.core.errors import InputError


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are sentences like all others: ``InputError``, exit code 2."""

    def error(self, message: str) -> NoReturn:
        help_of = "help" if self.prog == "recx" else f"{self.prog.removeprefix('recx ')} --help"
        raise InputError(f"{self.prog}: {message}: `python -m recx {help_of}` shows how it is called")

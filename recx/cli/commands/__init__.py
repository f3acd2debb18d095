"""The commands: a module each, with ``run(arguments)``, which returns the exit code, and ``parser()``."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

COMMANDS = (
    *("bridge", "cache", "clicks", "compare", "docs", "doctor", "evaluate", "explain", "help", "init"),
    *("list", "new-plugin", "predict", "replay", "report", "reproduce", "runs", "serve", "study", "ui"),
)


def module_of(command: str) -> ModuleType:
    """Import the module of a command, which is done only when it is called."""
    return import_module(f"recx.cli.commands.{command.replace('-', '_')}")

"""The classes that a kept chain may be made of again."""

from __future__ import annotations

import sys
from pathlib import Path

from recx.config import factory
from recx.core import project
from recx.core.errors import InputError

OURS = ("recx.core.", "recx.parts.", "recx.experiment.model.", "recx.evaluation.metrics.")
"""Where the parts of recx and what they are made of stand."""


def locate(path: str) -> type:
    """Return the class of a part, or of something that parts are made of, by its path ``module.Class``.

    It is one of recx, of an installed plugin, or of a module of the person's own project that is imported already, as
    that of a part of the configuration is: what a file names is never imported from a project.

    Raises:
        InputError: It is none of these.
    """
    module, _, name = path.rpartition(".")
    if factory.is_trusted(module):
        if module.startswith("recx.") and not path.startswith(OURS):
            raise InputError(f"{path} is no class of a part")
        return factory.locate(path, "model")
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    file = getattr(sys.modules.get(module), "__file__", None)
    inside = file is not None and any(Path(file).resolve().is_relative_to(root) for root in project.current().roots)
    if not inside or not isinstance(found, type) or found.__module__ != module:
        raise InputError(
            f"{path} is neither a class of recx or of an installed plugin nor of a project whose option files name its "
            "module: install the plugin, or give --config-dir=DIR"
        )
    return found

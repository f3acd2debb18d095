"""What the users and items of saved runs are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recx.config.part_classes import locate
from recx.core.errors import InputError
from recx.core.nouns import ORDINARY, Nouns, nouns_of


def nouns_of_configs(configs: Iterable[Mapping[str, Any]]) -> Nouns:
    """Return the words of the datasets of saved runs; users and items where these differ or are not known.

    Args:
        configs: The composed configuration of each run.
    """
    found = {_nouns_of(config) for config in configs}
    return found.pop() if len(found) == 1 else ORDINARY


def _nouns_of(config: Mapping[str, Any]) -> Nouns:
    dataset = config.get("dataset")
    try:
        return nouns_of(locate(str(dataset["_target_"])) if isinstance(dataset, Mapping) else None)
    except (InputError, KeyError):  # of a plugin or a project that is not there
        return ORDINARY

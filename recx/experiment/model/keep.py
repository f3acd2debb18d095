"""Keeps the chain of a run in the run's folder, as much as its configuration says (``model``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recx.config.part_classes import locate
from recx.core.chosen import CHOSEN
from recx.core.progress import Stages, say
from recx.core.protocols import Splitter
from recx.core.types import Fold, Interactions
from recx.experiment.build import keep_of
from recx.experiment.card_facts import source
from recx.experiment.experiment import Result
from recx.experiment.model.chain import Chain
from recx.experiment.model.folder import MODEL, write
from recx.experiment.model.serving import serve_with
from recx.experiment.model.until import fitted_until
from recx.storage.values import NotStorableError


def keep(result: Result, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any]) -> int | None:
    """Write the folder ``model`` into a run's; return its size in bytes, or None if nothing is kept, which is said.

    Args:
        result: The run.
        folder: The run's folder.
        config: Its configuration, without passwords.
        card: Its protocol card.
    """
    how = keep_of(config)
    if how == "off":
        return None
    if how == "parts" and "model" not in config.get(CHOSEN, {}).get("settings", {}) and source(config):
        say("  the model keeps the events too, since a data frame cannot be read again (model=parts: without them)")
        how = "full"
    try:
        chain = Chain.of(result)
        if how == "full":
            known = known_of(result.interactions, result.experiment.splitter)
            serve_with(chain, known.history, known.requests[:1], Stages(aloud=False))  # so that features are fitted
            chain = chain.with_events(known, locate)
        until = fitted_until(result.interactions, result.experiment.splitter, result.experiment.fold)
        return write(chain, folder / MODEL, config, card, until)
    except NotStorableError as error:
        way_out = f"see python -m recx help {error.page}, or choose model=off"
        say(f"  the model is not kept, since it contains {error}: {way_out}")
        return None


def known_of(interactions: Interactions, splitter: Splitter) -> Fold:
    """Return all events of the data, nothing held out, and the requests after them, without names."""
    return splitter.split(interactions.unnamed(), "predict").fold

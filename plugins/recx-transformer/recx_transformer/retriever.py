"""``retriever=transformer``: predicts the user's next choice by causal self-attention over their events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from recx.plugin import InputError, Interactions, SeenEvents
from recx_transformer.device import device_of, dtype_on, processor
from recx_transformer.fitted import FittedTransformer, load, saved_in
from recx_transformer.settings import Settings
from recx_transformer.training import fit

__all__ = ["FittedTransformer", "Transformer", "load"]


@dataclass(frozen=True)
class Transformer(Settings):
    """A causal self-attention next-item model (SASRec: Kang and McAuley 2018) with tied item vectors."""

    gives_probabilities: ClassVar[bool] = False
    """Its scores are products of vectors."""

    @property
    def depends_on(self) -> list[Path | str]:
        """The processor in use, its precision, and the folder of the network of another run."""
        device = device_of(self.device)
        found: list[Path | str] = [processor(device), str(dtype_on(device, self.precision))]
        return found if self.from_run is None else [*found, self._saved]

    @property
    def loaded(self) -> dict[str, Any]:
        """What the protocol card says of the network of another run (see ``recx.core.protocols.Loading``)."""
        if self.from_run is None:
            return {}
        return {"from": str(self._saved), "seen": SeenEvents.load(self._saved).statement()}

    @property
    def _saved(self) -> Path:
        from recx import results

        return saved_in(results.load(str(self.from_run)).folder / "retriever")

    def fit(self, history: Interactions) -> FittedTransformer:
        """Train on a history, or load the network of ``from_run``.

        Raises:
            InputError: The device, the checkpoint or the run cannot be used, or its network has seen other events.
            RecxError: The loss became NaN.
        """
        if self.from_run is None:
            return fit(self, history)
        fitted = load(self._saved)
        if outside := fitted.seen.users_outside(history):
            raise InputError(
                f"retriever.from_run={self.from_run}: its network has learned from events of {outside} users that are "
                "not in this history, and may know the answers: choose a run that held them out, such as one of an "
                "earlier fold; or, where only the step that trains the ranker lacks them, ranker=identity or a run "
                "with refit=false; or train anew (retriever.from_run=null)"
            )
        return replace(fitted, settings=replace(fitted.settings, seen=self.seen))

"""``retriever=transformer``: predicts the user's next choice by causal self-attention over their events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from recx.plugin import InputError, Interactions, fitted_parts_of
from recx_transformer.device import device_of, dtype_on, processor
from recx_transformer.fitted import FittedTransformer
from recx_transformer.settings import Settings
from recx_transformer.training import fit

__all__ = ["FittedTransformer", "Transformer"]


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
        return {"from": str(self._saved), "seen": self._found().seen.statement()}

    @property
    def _saved(self) -> Path:
        from recx import results

        return results.load(str(self.from_run)).folder / "model"

    def _found(self) -> FittedTransformer:
        """Return the only fitted transformer of the run: its retriever, or a source of its union.

        Raises:
            InputError: The run kept no model, or one with none or several of them.
        """
        found = fitted_parts_of(self._saved, FittedTransformer)
        if len(found) > 1:
            raise InputError(f"{self._saved} contains {len(found)} fitted transformers: choose a run with only one")
        if not found:
            raise InputError(
                f"{self._saved} contains no fitted transformer: choose a run with retriever=transformer and model=parts"
            )
        return found[0]

    def fit(self, history: Interactions) -> FittedTransformer:
        """Train on a history, or load the network of ``from_run``.

        Raises:
            InputError: The device, the checkpoint or the run cannot be used, or its network has seen other events.
            RecxError: The loss became NaN.
        """
        if self.from_run is None:
            return fit(self, history)
        fitted = self._found()
        if outside := fitted.seen.users_outside(history):
            raise InputError(
                f"retriever.from_run={self.from_run}: its network has learned from events of {outside} users that are "
                "not in this history, and may know the answers: choose a run that held them out, such as one of an "
                "earlier fold; or, where only the step that trains the ranker lacks them, ranker=identity or a run "
                "with refit=false; or train anew (retriever.from_run=null)"
            )
        return replace(fitted, settings=replace(fitted.settings, seen=self.seen))

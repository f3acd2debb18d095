"""``retriever=transformer``: predicts the user's next choice by causal self-attention over their events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from recx.plugin import Interactions
from recx_transformer.device import device_of, dtype_on, processor
from recx_transformer.fitted import FittedTransformer, load, saved_in
from recx_transformer.settings import Settings
from recx_transformer.training import fit

__all__ = ["FittedTransformer", "Transformer", "load"]


@dataclass(frozen=True)
class Transformer(Settings):
    """A causal self-attention next-item model (SASRec: Kang and McAuley 2018) with tied item vectors."""

    @property
    def depends_on(self) -> list[Path | str]:
        """The processor in use, its precision, and the folder of the network of another run."""
        device = device_of(self.device)
        found: list[Path | str] = [processor(device), str(dtype_on(device, self.precision))]
        return found if self.from_run is None else [*found, self._saved]

    @property
    def _saved(self) -> Path:
        from recx import results

        return saved_in(results.load(str(self.from_run)).folder / "retriever")

    def fit(self, history: Interactions) -> FittedTransformer:
        """Train on a history, or load the network of ``from_run``.

        Raises:
            InputError: The device, the checkpoint or the run cannot be used.
            RecxError: The loss became NaN.
        """
        if self.from_run is None:
            return fit(self, history)
        fitted = load(self._saved)
        return replace(fitted, settings=replace(fitted.settings, seen=self.seen))

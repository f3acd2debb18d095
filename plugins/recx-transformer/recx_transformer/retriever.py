"""``retriever=transformer`` and ``bert4rec`` predict the user's next choice by self-attention over their events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from recx.plugin import (
    Duration,
    InputError,
    Interactions,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    SeenEvents,
    Share,
    Unit,
    fitted_parts_of,
    trained,
)
from recx_transformer.device import device_of, dtype_on, memory_kept, processor, reproducible
from recx_transformer.fitted import FittedTransformer
from recx_transformer.learner import Learner
from recx_transformer.objectives import MaskedItems, NextItem, Objective
from recx_transformer.settings import DropoutRate, Settings

__all__ = ["BERT4Rec", "FittedTransformer", "Transformer"]


class SequenceModel(Settings):
    """A sequence model that is trained, or loaded from a run."""

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
        """Return the only fitted model of this kind of the run: its retriever, or a source of its union.

        Raises:
            InputError: The run kept no model, or one with none or several of them.
        """
        parts = fitted_parts_of(self._saved, FittedTransformer)
        found = [part for part in parts if part.settings.option == self.option]
        if len(found) > 1:
            raise InputError(
                f"{self._saved} contains {len(found)} networks of retriever={self.option}: choose a run with only one"
            )
        if not found:
            raise InputError(
                f"{self._saved} contains no network of retriever={self.option}: choose a run with that retriever and "
                "model=parts"
            )
        return found[0]

    def fit(self, history: Interactions) -> FittedTransformer:
        """Train on a history, or load the network of ``from_run``.

        Raises:
            InputError: The device, the checkpoint or the run cannot be used, or its network has seen other events.
            RecxError: The loss became NaN.
        """
        if self.from_run is None:
            return self._trained(history)
        fitted = self._found()
        if outside := fitted.seen.users_outside(history):
            raise InputError(
                f"retriever.from_run={self.from_run}: its network has learned from events of {outside} users that are "
                "not in this history, and may know the answers: choose a run that held them out, such as one of an "
                "earlier fold; or, where only the step that trains the ranker lacks them, ranker=identity or a run "
                "with refit=false; or train anew (retriever.from_run=null)"
            )
        return replace(fitted, settings=replace(fitted.settings, seen=self.seen))

    def _trained(self, history: Interactions) -> FittedTransformer:
        seen = SeenEvents.of(history)  # also what only validates

        def learner_of(part: Interactions) -> Learner:
            return Learner.of(self, part, seen, whole=part is history)

        with reproducible(device_of(self.device)), memory_kept():
            learner, summary = trained(self, self.option, self.epochs, history, learner_of)
        return replace(learner.fitted(), summary=summary)


@dataclass(frozen=True, kw_only=True)
class Transformer(SequenceModel):
    """A causal self-attention next-item model (SASRec: Kang and McAuley 2018) with tied item vectors."""

    option: ClassVar[str] = "transformer"

    @property
    def objective(self) -> Objective:
        """Every event predicts the item of the next one."""
        return NextItem()


@dataclass(frozen=True, kw_only=True)
class BERT4Rec(SequenceModel):
    """A bidirectional self-attention model of masked items (BERT4Rec: Sun et al. 2019) with tied item vectors.

    Some items of a sequence are replaced by a mask in training, and predicted from those before and after them; a mask
    after the user's last event predicts the next item. The defaults are the published model's, which looks at nothing
    but the items. Unlike there, blocks normalise their input (pre-norm), and items have no bias of their own.

    Attributes:
        max_length: Maximum number of events that the network looks at, the mask after the last one included.
        mask_prob: Share of a sequence's items that is masked in training.
        mask_last: Share of sequences of which the last item alone is masked, as when the network is asked.
    """

    factors: PositiveInt = 64
    dropout: DropoutRate = 0.2
    positions: Literal["relative", "learned"] = "learned"
    max_length: Annotated[int, Ge(2)] = 50
    embedding: bool = False
    category: bool = False
    time_gap: bool = False
    time_of_day: bool = False
    recent: tuple[Duration, ...] = ()
    epochs: PositiveInt = 100
    patience: PositiveInt = 10
    learning_rate: PositiveFloat = 1e-3
    l2: NonNegativeFloat = 0.01
    mask_prob: Share = 0.2
    mask_last: Unit = 0.1
    option: ClassVar[str] = "bert4rec"

    @property
    def objective(self) -> Objective:
        """Masked items are predicted from the others of their sequence."""
        return MaskedItems(self.mask_prob, self.mask_last)

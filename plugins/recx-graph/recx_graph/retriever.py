"""``retriever=lightgcn``: users and items in one graph, whose vectors are means over its layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from recx.plugin import (
    Epochs,
    InputError,
    Interactions,
    NonNegativeFloat,
    NonNegativeInt,
    PairValue,
    PositiveFloat,
    PositiveInt,
    Seen,
    checked,
    trained,
)
from recx_graph.fitted import FittedLightGCN
from recx_graph.learner import Training

__all__ = ["FittedLightGCN", "LightGCN"]


@dataclass(frozen=True, kw_only=True)
@checked("retriever")
class LightGCN(Epochs):
    """LightGCN: a vector of each user and each item, averaged over ``layers`` steps of propagation on their graph.

    It learns by the pairwise loss BPR, a uniformly drawn item that the user has not clicked for each clicked one, with
    Adam; the penalty is on the first vectors of a batch.

    Source: He, Deng, Wang, Li, Zhang and Wang 2020, "LightGCN: Simplifying and powering graph convolution network for
    recommendation".

    Attributes:
        factors: Length of the vectors.
        layers: Number of steps of propagation; with 0 it is matrix factorisation by BPR (Rendle et al. 2009).
        learning_rate: Learning rate of Adam.
        l2: Penalty on half the squared first vectors of a pair's user, item and negative.
        batch_size: Pairs per step.
        epochs: Passes over all pairs; with a validation, the maximum.
        value: What an edge weighs: one, or the sum of the weights of the pair's events. A pair is learnt from once an
            epoch in either case.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    factors: PositiveInt = 64
    layers: NonNegativeInt = 3
    learning_rate: PositiveFloat = 1e-3
    l2: NonNegativeFloat = 1e-4
    batch_size: PositiveInt = 2048
    epochs: PositiveInt = 300
    value: PairValue = "one"
    validation_users: NonNegativeInt = 3000
    patience: PositiveInt = 10
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedLightGCN:
        """Learn the vectors of all users and items with events.

        Raises:
            InputError: The history has no events, the vectors do not fit into memory, or the checkpoint cannot be used.
            RecxError: The loss is not finite.
        """
        if not len(history):
            raise InputError("retriever=lightgcn: the history has no events to learn from: choose retriever=random")
        learner, summary = trained(self, "lightgcn", self.epochs, history, lambda part: Training.of(self, part))
        fitted = learner.fitted()
        return replace(fitted, summary=replace(summary, notes={**fitted.summary.notes, **summary.notes}))

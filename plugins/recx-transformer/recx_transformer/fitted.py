"""The fitted retriever, which multiplies users' states after their last events with the vectors of all items."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from recx.plugin import (
    Bools,
    FitSummary,
    Floats,
    Interactions,
    RankedLists,
    Requests,
    SeenEvents,
    top_k,
)
from recx_transformer.catalogue import Catalogue
from recx_transformer.model import Network
from recx_transformer.objectives import Objective
from recx_transformer.recent import Fading
from recx_transformer.sequences import Events
from recx_transformer.settings import Settings


@dataclass(frozen=True, eq=False)
class FittedTransformer:
    """A fitted sequence model.

    Attributes:
        settings: The settings that it was fitted with.
        network: The trained network.
        catalogue: The items of the fit.
        seen: The events that it has learned from.
        summary: Counts of the fit, and curves with one value per epoch.
    """

    settings: Settings
    network: Network
    catalogue: Catalogue
    seen: SeenEvents
    summary: FitSummary

    def __post_init__(self) -> None:
        if len(self.catalogue.ids) != self.network.shape.items:
            raise ValueError(f"{len(self.catalogue.ids)} items for a network of {self.network.shape.items}")
        if self.settings.objective.causal != self.network.shape.causal:
            raise ValueError(f"the settings of retriever={self.settings.option} for a network of another model")

    @torch.no_grad()
    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items with the highest scores that may be shown.

        A user without events gets recently clicked items if the network uses recent clicks, else an empty list. An
        item without clicks in the history of the fit is found by its content, if the network uses content.

        Args:
            history: The events known at the requests.
            requests: The users, and the times of their requests.
            k: The maximum length of a list.

        Raises:
            InputError: The items are not described as they were when the network was fitted.
        """
        self.network.eval()
        scores = Scores.of(self, history)
        order = np.arange(len(requests))
        if requests.time is not None:  # recent clicks are counted in the order of time
            order = np.argsort(requests.time, kind="stable")
        lists = top_k(scores, history, requests[order], k, self.settings.seen)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        without = int((history.lengths[requests.user] == 0).sum())
        counts = {"items_out_of_reach": int((~scores.reachable).sum()), "requests_without_history": without}
        return replace(lists.take(back), notes={**self.summary.notes, **counts})


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all items for blocks of requests.

    Attributes:
        objective: What the network has learned to predict.
        network: The trained network.
        history: The events known at the requests.
        events: The network's inputs for these events.
        table: The items' vectors [n_items, d].
        reachable: Which items have a vector [n_items].
        clicks: The counter of recent clicks; None if they are not used.
    """

    objective: Objective
    network: Network
    history: Interactions
    events: Events
    table: Tensor
    reachable: Bools
    clicks: Fading | None

    @classmethod
    def of(cls, fitted: FittedTransformer, history: Interactions) -> Scores:
        """Return the scores of the items of this history."""
        network, shape, time = fitted.network, fitted.network.shape, history.time
        items = fitted.catalogue.describe(history.items).to(network.own.device)
        has_content = bool(shape.embedding or shape.categories)
        clicks = None
        if shape.recent and time is not None:
            clicks = Fading.of(time, history.item, history.n_items, fitted.settings.half_lives)
        return cls(
            objective=fitted.settings.objective,
            network=network,
            history=history,
            events=Events.of(history, history.item.astype(np.int64), gap=shape.gap, hour=shape.hour),
            table=network.table(items),
            reachable=items.row.cpu().numpy() >= 0 if not has_content else np.ones(history.n_items, dtype=bool),
            clicks=clicks,
        )

    def __call__(self, block: Requests) -> Floats:
        """Return float32 [n_lists, n_items]; -inf where an item or a user has no vector."""
        known = torch.from_numpy(self.history.lengths[block.user] > 0)
        state = self.table.new_zeros(len(block), self.network.shape.width)
        if known.any():
            asking = block[known.numpy()]
            batch = self.objective.at_requests(self.events, self.history, asking, self.network.shape.longest)
            state[known.to(state.device)] = self.network(batch.to(state.device), self.table)
        score = state @ self.table.T
        if self.clicks is not None and self.network.recent is not None and block.time is not None:
            weight = self.network.recent(state)
            for number, counts in enumerate(self.clicks.as_of(block.time)):
                score.addcmul_(torch.from_numpy(counts).to(score.device), weight[:, number, None])
        else:
            score[~known.to(score.device)] = -torch.inf
        table: Floats = score.cpu().numpy()
        if not self.reachable.all():
            table[:, ~self.reachable] = -np.inf
        return table

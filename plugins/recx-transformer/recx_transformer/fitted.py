"""The fitted retriever, which multiplies users' states after their last events with the vectors of all items."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from recx.plugin import (
    Bools,
    FitSummary,
    Floats,
    InputError,
    Interactions,
    RankedLists,
    Requests,
    SeenEvents,
    check_plain,
    replacing,
    top_k,
    write_text,
)
from recx_transformer.catalogue import Catalogue
from recx_transformer.device import device_of
from recx_transformer.model import Network, Shape
from recx_transformer.recent import Fading
from recx_transformer.sequences import Events, last_events
from recx_transformer.settings import Settings

MODEL, FACTS = "model.safetensors", "model.json"


@dataclass(frozen=True, eq=False)
class FittedTransformer:
    """A fitted transformer.

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

    def save(self, folder: Path) -> None:
        """Write the network and what it needs to retrieve for other histories: three files, none of them a pickle."""
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.network.state_dict().items()}
        category = self.catalogue.category
        facts = {
            "settings": asdict(self.settings),
            "shape": asdict(self.network.shape),
            "ids": self.catalogue.ids.tolist(),
            "category": None if category is None else category.tolist(),
            "embedding": self.catalogue.embedding,
            "curves": self.summary.curves,
            "notes": dict(self.summary.notes),
        }
        with replacing(folder / MODEL) as temporary:
            save_file(tensors, temporary)
        self.seen.save(folder)
        write_text(folder / FACTS, json.dumps(facts))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all items for blocks of requests.

    Attributes:
        network: The trained network.
        history: The events known at the requests.
        events: The network's inputs for these events.
        table: The items' vectors [n_items, d].
        reachable: Which items have a vector [n_items].
        clicks: The counter of recent clicks; None if they are not used.
    """

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
            batch = last_events(self.events, self.history, asking, self.network.shape.longest)
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


def saved_in(folder: Path) -> Path:
    """Return the folder of a run's only fitted transformer: the retriever's, or that of a source of a union.

    Raises:
        InputError: There are several.
    """
    found = sorted(path.parent for path in folder.rglob(FACTS))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"{folder} contains several fitted transformers ({names}): choose a run with only one")
    return found[0] if found else folder


def load(folder: Path | str) -> FittedTransformer:
    """Return the retriever that ``save`` wrote to this folder, on the first available device.

    Raises:
        InputError: The folder has none, or its files are damaged.
    """
    folder = Path(folder)
    if not (folder / FACTS).is_file():
        raise InputError(
            f"{folder} contains no fitted transformer (no {FACTS}): choose a run with retriever=transformer"
        )
    for name in (FACTS, MODEL):
        if (folder / name).exists():
            check_plain(folder / name)
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        network = Network(Shape(**facts["shape"]))
        network.load_state_dict(load_file(folder / MODEL))
        category = None if facts["category"] is None else np.array(facts["category"], dtype=np.int64)
        catalogue = Catalogue(np.array(facts["ids"]), category, facts["embedding"])
        settings = Settings(**facts["settings"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"{folder} contains a transformer that cannot be read ({type(error).__name__}): run the experiment again"
        ) from error
    summary = FitSummary(notes=facts["notes"], curves=facts["curves"])
    return FittedTransformer(settings, network.to(device_of("auto")), catalogue, SeenEvents.load(folder), summary)

"""The network: self-attention over a user's events, with tied item vectors; causal (SASRec) or not (BERT4Rec)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from recx.plugin import InputError, check_plain, read_text, write_text
from recx_transformer.device import device_of
from recx_transformer.dropout import Dropout
from recx_transformer.sequences import GAPS, HOURS, MASK, Batch

WEIGHTS, SHAPE = "model.safetensors", "shape.json"


@dataclass(frozen=True)
class Shape:
    """The dimensions and inputs of a network.

    Attributes:
        items: The number of items with a vector of their own.
        width: The length of states and item vectors.
        blocks: The number of attention blocks.
        heads: The number of attention heads.
        longest: The maximum length of a sequence.
        relative: Whether positions are biases by distance instead of vectors by place.
        dropout: The share of values set to 0 in training.
        embedding: The length of the items' given embeddings; 0 for none.
        categories: The number of categories, including that of unknown ones; 0 for none.
        gap: Whether the time since the previous event is an input.
        hour: Whether the hour is an input.
        recent: The number of half-lives of click counts that are added to the scores.
        causal: Whether an event attends to no later one; if not, items may be masked.
    """

    items: int
    width: int
    blocks: int
    heads: int
    longest: int
    relative: bool
    dropout: float
    embedding: int = 0
    categories: int = 0
    gap: bool = False
    hour: bool = False
    recent: int = 0
    causal: bool = True


@dataclass(frozen=True, eq=False)
class Items:
    """The network's inputs for n items.

    Attributes:
        row: The row of each item's own vector, int64 [n]; -1 if it has none.
        embedding: The given embeddings, float32 [n, e]; 0 where unknown.
        category: The categories, int64 [n]; 0 where unknown.
    """

    row: Tensor
    embedding: Tensor | None
    category: Tensor | None

    def to(self, device: torch.device) -> Items:
        """Return the items on a device."""
        return self._each(lambda part: part.to(device))

    def take(self, chosen: Tensor) -> Items:
        """Return the chosen items (int64)."""
        return self._each(lambda part: part[chosen])

    def _each(self, change: Callable[[Tensor], Tensor]) -> Items:
        embedding, category = (None if part is None else change(part) for part in (self.embedding, self.category))
        return Items(change(self.row), embedding, category)


class Network(nn.Module):
    """Turns a batch of packed sequences into states; a state's product with an item's vector is the item's score.

    Args:
        shape: The dimensions and inputs.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        d = shape.width
        self.own = nn.Parameter(torch.empty(shape.items, d))
        self.content = nn.Linear(shape.embedding, d, bias=False) if shape.embedding else None
        self.category = nn.Embedding(shape.categories, d) if shape.categories else None
        self.place = None if shape.relative else nn.Embedding(shape.longest, d)
        self.gap = nn.Embedding(GAPS, d) if shape.gap else None
        self.hour = nn.Embedding(HOURS, d) if shape.hour else None
        self.next_gap = nn.Embedding(GAPS, d) if shape.gap and shape.causal else None
        self.next_hour = nn.Embedding(HOURS, d) if shape.hour and shape.causal else None
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.blocks))
        self.norm = nn.LayerNorm(d)
        self.recent = nn.Linear(d, shape.recent) if shape.recent else None
        self.dropout = Dropout(shape.dropout)
        # What stands for a masked item, and the layer before the scores (Sun et al. 2019, equation 7).
        self.mask = None if shape.causal else nn.Parameter(torch.empty(d))
        self.head = None if shape.causal else nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.LayerNorm(d))
        self.apply(_initialise)
        nn.init.normal_(self.own, std=0.02)
        if self.mask is not None:
            nn.init.normal_(self.mask, std=0.02)
        if self.recent is not None:
            nn.init.zeros_(self.recent.weight)
            nn.init.constant_(self.recent.bias, 1 / shape.recent)

    def save(self, folder: Path) -> None:
        """Write the weights and the shape into a folder."""
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        save_file(tensors, folder / WEIGHTS)
        write_text(folder / SHAPE, json.dumps(asdict(self.shape)))

    @classmethod
    def load(cls, folder: Path) -> Network:
        """Return the network that was saved into a folder, on the first available device.

        Raises:
            InputError: A file is missing or damaged.
        """
        try:
            check_plain(folder / WEIGHTS)
            tensors = load_file(folder / WEIGHTS)
            shape = Shape(**json.loads(read_text(folder / SHAPE)))
            if len({name.split(".")[1] for name in tensors if name.startswith("blocks.")}) != shape.blocks:
                raise ValueError("other blocks than those of the weights")
            with torch.device("meta"):  # no memory for a shape that the weights do not have
                network = cls(shape)
            network.load_state_dict(tensors, assign=True)
        except (OSError, ArithmeticError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
            raise InputError(
                f"{folder} contains a network that cannot be read ({type(error).__name__}): run the experiment again"
            ) from error
        return network.to(device_of("auto")).eval()

    def table(self, items: Items, keep: Tensor | None = None) -> Tensor:
        """Return the items' vectors [n, d].

        Args:
            items: The items.
            keep: The items whose own vector is used, bool [n]; the others get their content only. None: all.
        """
        own = F.embedding(items.row.clamp(min=0), self.own)
        with_own = items.row >= 0 if keep is None else (items.row >= 0) & keep
        table = own if bool(with_own.all()) else own * with_own[:, None]
        if self.content is not None and items.embedding is not None:
            table = table + self.content(items.embedding)
        if self.category is not None and items.category is not None:
            table = table + self.category(items.category)
        return table

    def forward(self, batch: Batch, table: Tensor) -> Tensor:
        """Return the states [n, d] at the batch's cells, given the vectors of all items."""
        apart, allowed = _apart(batch.place, 0 if self.shape.causal else self.shape.longest - 1)
        x = F.embedding(batch.item.clamp(min=0), table)
        if self.mask is not None:
            x = torch.where((batch.item == MASK)[:, :, None], self.mask.to(x.dtype), x)
        x = x * self.shape.width**0.5
        if self.place is not None:
            # Where masks are, places count from the end, so that the mask after the last event has the same for all.
            x = x + self.place(batch.place if self.shape.causal else allowed.sum(dim=2) - 1 - batch.place)
        if self.gap is not None and batch.gap is not None:
            x = x + self.gap(batch.gap)
        if self.hour is not None and batch.hour is not None:
            x = x + self.hour(batch.hour)
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x, apart, allowed)
        x = x.flatten(0, 1).index_select(0, batch.cell)
        if self.next_gap is not None and batch.next_gap is not None:
            x = x + self.next_gap(batch.next_gap)
        if self.next_hour is not None and batch.next_hour is not None:
            x = x + self.next_hour(batch.next_hour)
        state: Tensor = self.norm(x)
        return state if self.head is None else self.head(state)


class Block(nn.Module):
    """Attention, then a two-layer network per event; both normalise their input and are added to it (pre-norm)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d = shape.width
        self.heads, self.drop = shape.heads, shape.dropout
        self.norm = nn.LayerNorm(d)
        self.asked = nn.Linear(d, 3 * d)
        self.mixed = nn.Linear(d, d)
        # One bias per head and distance back to another event; if later ones count, from the farthest of them on.
        distances = shape.longest if shape.causal else 2 * shape.longest - 1
        self.distance = nn.Parameter(torch.zeros(shape.heads, distances)) if shape.relative else None
        self.norm_alone = nn.LayerNorm(d)
        self.wide = nn.Linear(d, 4 * d)
        self.narrow = nn.Linear(4 * d, d)
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, apart: Tensor, allowed: Tensor) -> Tensor:
        x = x + self.dropout(self.attend(self.norm(x), apart, allowed))
        wide = self.dropout(F.gelu(self.wide(self.norm_alone(x))))
        result: Tensor = x + self.dropout(self.narrow(wide))
        return result

    def attend(self, x: Tensor, apart: Tensor, allowed: Tensor) -> Tensor:
        rows, width, d = x.shape
        q, k, v = self.asked(x).view(rows, width, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mask = allowed[:, None]
        if self.distance is not None:
            bias = self.distance[:, apart.clamp(max=self.distance.shape[1] - 1)]
            mask = bias[None].masked_fill(~mask, float("-inf")).to(q.dtype)
        mixed = F.scaled_dot_product_attention(q, k, v, mask, self.drop if self.training else 0.0)
        result: Tensor = self.mixed(mixed.transpose(1, 2).reshape(rows, width, d))
        return result


def _apart(place: Tensor, ahead: int) -> tuple[Tensor, Tensor]:
    """Return the distance back to each cell, plus ``ahead``, and the attention mask.

    The shapes are [width, width] and [n_rows, width, width]. A cell attends to the cells of its own piece, and if
    ``ahead`` is 0, to itself and the earlier ones only.
    """
    cell = torch.arange(place.shape[1], device=place.device)
    back, start = cell[:, None] - cell, cell - place
    allowed = start[:, :, None] == start[:, None, :]
    return (back + ahead).clamp(min=0), allowed if ahead else allowed & (back >= 0)


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)

"""Made-up impressions whose clicks are drawn from known probabilities, to try predictions of clicks on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge
from scipy.special import expit

from recx.core.bounds import PositiveInt, Seed, Share, check
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.notes import KEPT_WITHOUT_CLICK
from recx.core.nouns import Nouns
from recx.core.ragged import indptr_of
from recx.core.types import Doubles, Interactions
from recx.parts.dataset.events import made_up, text_array
from recx.parts.dataset.judgements import Pairs, answers, slates

POSITION = 0.25
"""How far the log-odds of a click fall from one position to the next."""
SIGNAL = 0.5
"""Share of the features that are informative."""


@dataclass(frozen=True)
class SyntheticClicks:
    """Impressions of items, each with its position, numeric features and whether it was clicked.

    The log-odds of a click are a constant, minus 0.25 for every position below the first, plus a weighted sum of half
    of the features, which are standard normal; the other half are noise. Clicks are drawn independently, so many
    impressions have none. They are kept: an event of weight 0 says that they were made.

    Attributes:
        impressions: number of impressions.
        shown: number of items in each.
        items: number of items.
        features: number of features of each item shown.
        click_rate: mean probability of a click.
        seed: seed of the generator.
    """

    nouns: ClassVar = Nouns("impression", "impressions")
    impressions: Annotated[int, Ge(10)] = 3000
    shown: PositiveInt = 10
    items: PositiveInt = 200
    features: PositiveInt = 6
    click_rate: Share = 0.1
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "dataset")
        if self.shown > self.items:
            raise InputError(
                f"dataset.shown={self.shown}: there are {self.items} items, and an impression shows none twice: lower "
                "it, or raise dataset.items"
            )

    def load(self) -> Interactions:
        """Return the clicks, with what was shown as slates; the same settings make the same."""
        pairs, _ = self._world()
        n, clicks = self.impressions, pairs.grade > 0
        silent = np.setdiff1d(np.arange(n), pairs.user[clicks])
        events = answers(pairs, silent)
        return made_up(
            Interactions(
                indptr=indptr_of(np.bincount(events.user, minlength=n)),
                item=events.item.astype(np.int32),
                time=None,
                weight=events.grade.astype(np.float32),
                users=Entities(text_array(f"impression {number}" for number in range(1, n + 1))),
                items=Entities(text_array(f"item {number}" for number in range(1, self.items + 1))),
                slates=slates(pairs, n),
                notes={
                    "impressions": n,
                    "impressions_without_click": len(silent),
                    KEPT_WITHOUT_CLICK: len(silent),
                },
            )
        )

    def probabilities(self) -> Doubles:
        """Return the probability of a click on each row of the slates [n]."""
        return self._world()[1]

    def _world(self) -> tuple[Pairs, Doubles]:
        """Return what was shown, sorted by impression and item, and the probability of a click on each of it [n]."""
        from scipy.optimize import brentq  # half a second, which other datasets do not need

        rng = np.random.default_rng(self.seed)
        n, shape = self.impressions * self.shown, (self.impressions, self.shown)
        chance = rng.random((self.impressions, self.items))
        item = np.sort(np.argpartition(chance, self.shown - 1, axis=1)[:, : self.shown], axis=1)
        position = rng.permuted(np.broadcast_to(np.arange(self.shown), shape), axis=1).ravel()
        features = rng.normal(size=(self.features, n)).astype(np.float32)
        informative = max(1, round(SIGNAL * self.features))
        weight = rng.choice([-1.0, 1.0], informative) / np.arange(1, informative + 1)
        score = weight @ features[:informative].astype(np.float64) - POSITION * position
        constant = brentq(lambda start: float(expit(start + score).mean()) - self.click_rate, -100.0, 100.0)
        probability = expit(constant + score)
        clicked = (rng.random(n) < probability).astype(np.float64)
        columns = {f"x{number}": column for number, column in enumerate(features, start=1)}
        columns["position"] = (position + 1).astype(np.float32)
        user = np.repeat(np.arange(self.impressions), self.shown)
        return Pairs(user, item.ravel(), clicked, columns), probability

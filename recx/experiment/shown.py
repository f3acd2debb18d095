"""How a result is shown after a cell of a notebook or in a Python session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from recx.core.html_table import number, sentences, stages, title
from recx.core.types import RankedLists

FIRST = ("ndcg", "hit", "mrr")
"""The figures of users that are shown if the evaluator has them."""


@dataclass(frozen=True)
class Overview:
    """What a person wants to see of a result first.

    Attributes:
        about: What ran.
        means: Its figures by full name; None when predicting.
        lists: Its lists by name.
        seconds: Stage -> its time, and ``total``.
    """

    about: str
    means: Mapping[str, float] | None
    lists: Mapping[str, RankedLists]
    seconds: Mapping[str, float]

    def text(self) -> str:
        """Return at most five lines: what ran, its main figures or the size of its lists, and the seconds."""
        what = self._sizes() if self.means is None else _figures(self.means)
        return "\n".join([f"Result: {self.about}", *what, f"  {'seconds':<16}{self._seconds()}"])

    def html(self) -> str:
        """Return the same with all figures, as HTML."""
        what = sentences(self._sizes()) if self.means is None else stages(self.means)
        return str(title("Result", self.about) + what + title("seconds", self._seconds()))

    def _sizes(self) -> Iterator[str]:
        for name, lists in self.lists.items():
            yield f"  {name:<16}{len(lists):,} items in {lists.n_lists:,} lists"

    def _seconds(self) -> str:
        stages = {name: took for name, took in self.seconds.items() if name != "total"}
        longest = sorted(stages, key=lambda name: -stages[name])[:3]
        of_them = ", ".join(f"{name} {stages[name]:.2f}" for name in longest)
        return f"{self.seconds.get('total', 0.0):.2f} in total{f', of which {of_them}' if of_them else ''}"


def _figures(means: Mapping[str, float]) -> Iterator[str]:
    """Yield the main figures of users, the largest recall of the candidates, and where targets are lost."""
    of_users = [name for name in means if name.startswith("end_to_end/")]
    cuts = [int(k) for name in of_users if (k := name.rpartition("_at_")[2]).isdecimal()]
    main = [f"end_to_end/{first}_at_{min(cuts)}" for first in FIRST if cuts]
    recall = [name for name in means if name.startswith("retrieval/recall_at_")]
    lost = [name for name in means if name.startswith("funnel/lost_in_")]
    chosen = {
        "end to end": [name for name in main if name in means] or of_users[:3],
        "retrieval": sorted(recall, key=lambda name: int(name.rpartition("_")[2]))[-1:],
        "funnel": lost[:2],
    }
    for stage, names in chosen.items():
        if names:
            texts = (f"{name.partition('/')[2]} {number(means[name])}" for name in names)
            yield f"  {stage:<16}{', '.join(texts)}"

"""A past run, as a store or its folder describes it, and how it differs from similar runs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from recx.core.chosen import NO_MATTER

NAN = float("nan")
LONGEST_VALUE = 30
RANKER = r"benchmark\.rankers\.[^.]+\._target_"


@dataclass(frozen=True, eq=False)
class PastRun:
    """One row of the table of runs.

    Attributes:
        id: What `recx compare` and other commands accept.
        experiment: Name of the experiment.
        status: finished, failed, killed, running or pruned.
        start: Unix time (s).
        seconds: Duration; NaN while it runs.
        folder: The run's folder; "" if it has none.
        metrics: Name -> value.
        read: Returns the settings.
        name: The run's name in the store; "" outside a store.
        parent: Id of the run that this one is a part of; "" if there is none.
        reason: Why it failed or was killed; "" otherwise.
        trials: Number of its trials.
        tags: The tags in the store.
    """

    id: str
    experiment: str
    status: str
    start: float
    seconds: float
    folder: str
    metrics: Mapping[str, float]
    read: Callable[[], Mapping[str, str]]
    name: str = ""
    parent: str = ""
    reason: str = ""
    trials: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The composed configuration: dotted name -> text, read at its first use."""
        return self.read()

    @cached_property
    def parts(self) -> str:
        """Its retriever and ranker, such as ``union + linear``, or the rankers of a benchmark."""
        compared = [name.split(".")[2] for name in self.settings if re.fullmatch(RANKER, name)]
        if compared:
            return f"benchmark of {', '.join(compared)}"
        found = (option(self.settings, group) for group in ("retriever", "ranker"))
        return " + ".join(name for name in found if name)


def option(settings: Mapping[str, str], group: str) -> str:
    """Return the word that chose the part of a group, such as ``item_knn``, or its module; "" if there is none."""
    return settings.get(group) or settings.get(f"{group}._target_", "").split(".")[-2:][0]


def differing(runs: Sequence[PastRun]) -> dict[str, str]:
    """Return how each run differs from most of those with the same experiment and parts.

    Args:
        runs: The runs of a table.

    Returns:
        Run id -> the settings whose values are not those of more than half of these runs. ``+x`` and ``-x``: the run
        has, or lacks, x.
    """
    alike: dict[tuple[str, str], list[PastRun]] = defaultdict(list)
    for run in runs:
        alike[run.experiment, run.parts].append(run)
    return {run.id: " ".join(settings) for group in alike.values() for run, settings in _differences(group)}


def _differences(group: Sequence[PastRun]) -> Iterator[tuple[PastRun, list[str]]]:
    trees = _trees([run.settings for run in group])
    every = sorted({node for tree in trees for node in tree})
    counted = {node: Counter(tree.get(node) for tree in trees).most_common(1)[0] for node in every}
    usual = {node: value for node, (value, times) in counted.items() if 2 * times > len(group)}
    open_nodes = [node for node in every if counted[node][1] < len(group)]
    for run, tree in zip(group, trees, strict=True):
        settings: list[str] = []
        shown: tuple[str, ...] = ()
        for node in open_nodes:
            value = tree.get(node)
            if node.startswith(shown) or value == usual.get(node):
                continue
            settings.append(f"-{node}" if value is None else f"{node}={_short(value)}" if value else f"+{node}")
            shown = (*shown, f"{node}.")
        yield run, settings


def _trees(every: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return each run's settings that are not equal in all, and "" for every name that has such settings below it.

    A part's name is the value of its group: ``ranker=linear``.
    """
    same = set.intersection(*(set(settings.items()) for settings in every))
    shared = {above for name, _ in same for above in _above(name)}
    trees = []
    for settings in every:
        tree: dict[str, str] = {}
        for name, value in settings.items():
            if (name, value) in same or name.split(".")[0] in NO_MATTER:
                continue
            tree.update({above: "" for above in _above(name) if above not in shared and above not in tree})
            if name.endswith("._target_"):
                tree[name.removesuffix("._target_")] = value.split(".")[-2:][0]
            else:
                tree[name] = value
        trees.append(tree)
    return trees


def _above(name: str) -> list[str]:
    """Return the names above a name: ``a`` and ``a.b`` for ``a.b.c``."""
    return [name[: dot.start()] for dot in re.finditer(r"\.", name)]


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"

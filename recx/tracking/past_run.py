"""A past run: what a store or its folder says about it, and what distinguishes it from the runs beside it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

NAN = float("nan")
NO_MATTER = ("cache", "report", "runtime", "tracker")
"""Settings that change no figure of a run."""
LONGEST_VALUE = 30
RANKER = r"benchmark\.rankers\.[^.]+\._target_"


@dataclass(frozen=True, eq=False)
class PastRun:
    """One line of the table of runs.

    id: what `recx compare` and the others take. name: what the run is called in the store, "" where there is none.
    status: finished, failed, killed, running or pruned. start: unix seconds. seconds: NaN while it runs. folder: its
    files, "" where it left none. parent: id of the run that this one is a part of; trials: how many trials are parts of
    it. read: gives the settings.
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
        """The composed configuration: dotted name -> text, read when it is first asked for."""
        return self.read()

    @cached_property
    def parts(self) -> str:
        """What the run is known by: its retriever and ranker, such as ``union + linear``, or what it compared."""
        compared = [name.split(".")[2] for name in self.settings if re.fullmatch(RANKER, name)]
        if compared:
            return f"benchmark of {', '.join(compared)}"
        found = (option(self.settings, group) for group in ("retriever", "ranker"))
        return " + ".join(name for name in found if name)


def option(settings: Mapping[str, str], group: str) -> str:
    """Return the part that was chosen in a group, such as ``item_knn``; "" where there is none."""
    return settings.get(f"{group}._target_", "").split(".")[-2:][0]


def differing(runs: Sequence[PastRun]) -> dict[str, str]:
    """Return run id -> what sets it apart from most of the runs here that have the same experiment and parts.

    A value that more than half of them have goes without saying. ``+x`` and ``-x``: only this run has, or lacks, x.
    """
    alike: dict[tuple[str, str], list[PastRun]] = defaultdict(list)
    for run in runs:
        alike[run.experiment, run.parts].append(run)
    return {run.id: " ".join(words) for group in alike.values() for run, words in _apart(group)}


def _apart(group: Sequence[PastRun]) -> Iterator[tuple[PastRun, list[str]]]:
    trees = _trees([run.settings for run in group])
    every = sorted({node for tree in trees for node in tree})
    counted = {node: Counter(tree.get(node) for tree in trees).most_common(1)[0] for node in every}
    usual = {node: value for node, (value, times) in counted.items() if 2 * times > len(group)}
    open_nodes = [node for node in every if counted[node][1] < len(group)]
    for run, tree in zip(group, trees, strict=True):
        words: list[str] = []
        said: tuple[str, ...] = ()
        for node in open_nodes:
            value = tree.get(node)
            if node.startswith(said) or (node in usual and value == usual[node]):
                continue
            if value is None and node not in usual:
                continue
            words.append(f"-{node}" if value is None else f"{node}={_short(value)}" if value else f"+{node}")
            said = (*said, f"{node}.")
        yield run, words


def _trees(every: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return of each run the settings that are not the same in all, and "" for every name that holds such settings.

    A part stands for its group: ``ranker=linear``.
    """
    same = set.intersection(*(set(settings.items()) for settings in every))
    held = {above for name, _ in same for above in _above(name)}
    trees = []
    for settings in every:
        tree: dict[str, str] = {}
        for name, value in settings.items():
            if (name, value) in same or name.split(".")[0] in NO_MATTER:
                continue
            tree.update({above: "" for above in _above(name) if above not in held and above not in tree})
            if name.endswith("._target_"):
                tree[name.removesuffix("._target_")] = value.split(".")[-2:][0]
            else:
                tree[name] = value
        trees.append(tree)
    return trees


def _above(name: str) -> list[str]:
    """Return the names that hold a name: ``a`` and ``a.b`` for ``a.b.c``."""
    words = name.split(".")
    return [".".join(words[:depth]) for depth in range(1, len(words))]


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"

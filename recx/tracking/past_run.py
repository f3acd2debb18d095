"""A past run, as a store or its folder describes it, and how it differs from similar runs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from recx.core.chosen import CHOSEN, NO_MATTER
from recx.core.fold_names import is_of_valid, outside
from recx.core.system.plain_files import read_text
from recx.core.system.serialize import flat

NAN = float("nan")
BESIDE = frozenset({"best", "baseline", "own"})
"""Roles of runs, and names of their folders, that a sweep makes beside its trials."""
REPLAY = "replay"
"""The role of a replay, which is no run of its own."""
DECIDING = ("dataset", "encoder", "filter", "n_candidates", "refit", "retriever", "seed", "seen", "split")
"""Settings that decide which items are candidates."""
SHOWN = ("retriever", "ranker")
"""Options that a run is called by."""
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
        figures: Name -> value, as they were stored.
        read: Returns the settings as they were stored: what was chosen, or of an older run the whole configuration.
        name: The run's name in the store; "" outside a store.
        parent: Id of the run that this one is a part of; "" if there is none.
        reason: Why it failed or was killed; "" otherwise.
        trials: Number of its trials.
        tags: The tags in the store.
        varied: The settings that its sweep varies, if it is a trial.
    """

    id: str
    experiment: str
    status: str
    start: float
    seconds: float
    folder: str
    figures: Mapping[str, float]
    read: Callable[[], Mapping[str, str]]
    name: str = ""
    parent: str = ""
    reason: str = ""
    trials: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    varied: tuple[str, ...] = ()

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The settings as they were stored: name -> text, read at their first use."""
        return self.read()

    @cached_property
    def configuration(self) -> Mapping[str, str]:
        """The whole configuration: dotted name -> text; the stored settings where the run left no folder."""
        found = configuration_in(Path(self.folder)) if self.is_compact and self.folder else {}
        return {**flat({key: value for key, value in found.items() if key != CHOSEN}), **self.settings}

    @property
    def is_compact(self) -> bool:
        """Whether its settings are only what was chosen."""
        return "retriever._target_" not in self.settings

    @cached_property
    def fold(self) -> str:
        """The fold that its figures are of; "" if that is unknown."""
        return "valid" if is_of_valid(self.figures) else self.settings.get("fold", "")

    @cached_property
    def metrics(self) -> Mapping[str, float]:
        """Name -> value; figures of ``fold=valid`` are named so, in older runs too."""
        return outside(self.figures, self.fold)

    @property
    def is_best(self) -> bool:
        """Whether it is the run of a sweep's best trial on the test fold."""
        return "best" in (self.tags.get("recx.role"), self.name)

    @property
    def is_beside(self) -> bool:
        """Whether it is a run that a sweep made beside its trials."""
        return not BESIDE.isdisjoint((self.tags.get("recx.role", ""), self.name))

    @cached_property
    def retrieval(self) -> Mapping[str, str]:
        """The settings that decide which users have a retrieved target."""
        return {name: text for name, text in self.settings.items() if name.split(".")[0] in DECIDING}

    @cached_property
    def parts(self) -> str:
        """Its retriever, ranker and re-ranker, such as ``union + linear``, or the rankers of a benchmark."""
        compared = ", ".join(name.split(".")[2] for name in self.settings if re.fullmatch(RANKER, name))
        if rankers := self.tags.get("recx.rankers") or compared:
            return f"benchmark of {rankers}"
        found = (option(self.settings, group) for group in ("retriever", "ranker", "reranker"))
        return " + ".join(name for name in found if name)


def option(settings: Mapping[str, str], group: str) -> str:
    """Return the word that chose the part of a group, such as ``item_knn``, or its module; "" if there is none."""
    return settings.get(group) or settings.get(f"{group}._target_", "").split(".")[-2:][0]


def configuration_in(folder: Path) -> Mapping[str, Any]:
    """Return the configuration of a run's folder; {} if it is missing or damaged."""
    from recx.core.yaml_files import parse_yaml

    try:
        return dict(parse_yaml(folder / "config.yaml", read_text(folder / "config.yaml")))
    except Exception:  # a damaged file may raise anything
        return {}


def differing(runs: Sequence[PastRun]) -> dict[str, str]:
    """Return how each run differs from most of those with the same experiment and parts.

    Args:
        runs: The runs of a table.

    Returns:
        Run id -> the settings whose values are not those of more than half of these runs. Of older runs, whose whole
        configuration is compared, ``+x`` and ``-x``: the run has, or lacks, x.
    """
    alike: dict[tuple[str, str, bool], list[PastRun]] = defaultdict(list)
    for run in runs:
        alike[run.experiment, run.parts, run.is_compact].append(run)
    groups = ((_chosen if compact else _differences)(group) for (_, _, compact), group in alike.items())
    return {run.id: " ".join(settings) for group in groups for run, settings in group}


def _chosen(group: Sequence[PastRun]) -> Iterator[tuple[PastRun, list[str]]]:
    """Yield the chosen settings of each run that most others do not have."""
    counted = Counter(pair for run in group for pair in run.settings.items())
    for run in group:
        kept = [name for name in run.settings if name not in SHOWN and name.split(".")[0] not in NO_MATTER]
        rare = [name for name in kept if 2 * counted[name, run.settings[name]] <= len(group)]
        yield run, [f"{name}={_short(run.settings[name])}" for name in rare]


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

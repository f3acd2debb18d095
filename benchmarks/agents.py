"""Measures the agents experiment on real calling graphs: `python benchmarks/agents.py`.

Top-1 and top-3 accuracy and MRR of every feature alone, of the four classic ones (one of them in two columns), of all,
and of all but a few; then two controls. The canary permutes the labels within each node. The other control puts a wrong
graph in the right one's place and perturbs that: whatever finds it exploits the perturbation.

Prints one Markdown table.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from run import DATA

from recx.config.compose import compose, plain
from recx.core.types import Floats, Fold, Interactions, RankedLists, Requests, Split
from recx.experiment import build
from recx.experiment.experiment import Experiment
from recx.parts.dataset.agents import Agents
from recx.parts.dataset.calling_graphs import perturbation_of, queries_of, read_calling_graphs
from recx.parts.dataset.files import expand_home
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.trees import Query, Traces, interactions_of
from recx.parts.ranker.linear import Linear
from recx.parts.shared.design_matrix import design_matrix, names_of

CLASSIC = ("phi_rel", "phi_hist", "phi_coop", "co_occurrence", "phi_struct")
SHAPE = ("phi_coop", "phi_struct", "attached")
VOTES = tuple(f"past_{what}_{how}" for what in ("tools", "edges") for how in ("mean", "least", "held"))
EDGES = ("co_occurrence", "transition", "transition_least")


@dataclass(frozen=True)
class Column:
    """A feature that was computed beforehand."""

    name: str

    def fit(self, history: Interactions) -> Column:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return candidates.columns[self.name]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A split and the candidates of both folds, with all features as columns."""

    experiment: Experiment
    split: Split
    past: RankedLists
    now: RankedLists

    def evaluated(self, names: Sequence[str]) -> str:
        """Return the figures of a ranker fitted on these columns, as cells of a table."""
        assert self.split.past is not None
        ranker = Linear({name: Column(name) for name in names}).fit(self.past, self.split.past)
        fold = self.split.fold
        ranked = ranker.rank(self.now, fold.history, fold.requests)
        means = self.experiment.evaluator.evaluate(self.now, ranked, fold).means
        return " | ".join(f"{means[f'end_to_end/{name}']:.3f}" for name in ("top_1_accuracy", "top_3_accuracy", "mrr"))


def prepare(experiment: Experiment, interactions: Interactions) -> Prepared:
    split = experiment.splitter.split(interactions.unnamed(), "test")
    assert split.past is not None
    return Prepared(experiment, split, _with_features(experiment, split.past), _with_features(experiment, split.fold))


def _with_features(experiment: Experiment, fold: Fold) -> RankedLists:
    candidates = experiment.retriever.fit(fold.history).retrieve(fold.history, fold.requests, 1)
    features = experiment.ranker.features  # type: ignore[union-attr]
    table = design_matrix(features, candidates, fold.history, fold.requests)
    return replace(candidates, columns=dict(zip(names_of(features, candidates), table.T, strict=True)))


def variants(experiment: Experiment, dataset: Agents) -> Iterator[tuple[str, Prepared]]:
    """Yield the data as is, without the trace's request, with permuted labels, and with wrong graphs as right ones."""
    data = dataset.load()
    yield "", prepare(experiment, data)
    table = {name: column for name, column in data.users.table.items() if name != "request"}
    yield (
        "without the request of the trace: ",
        prepare(experiment, replace(data, users=replace(data.users, table=table))),
    )
    assert data.slates is not None
    place = np.random.default_rng(0).integers(0, data.slates.lengths)
    yield "canary: ", prepare(experiment, replace(data, item=data.slates.item[data.slates.indptr[:-1] + place]))
    yield "a wrong graph for the right one: ", prepare(experiment, interactions_of(misled(dataset), dataset.seed))


def misled(dataset: Agents) -> Traces:
    """Return the traces with a wrong tree in place of each right one, among perturbations of it."""
    folder = expand_home(str(dataset.path))
    pool = ToolPool.read(next(folder.glob("tool_pool.json*")))
    read = read_calling_graphs(next(folder.glob("tool_calling_graphs.json*")), pool, Counter())
    perturbation = perturbation_of(read, pool)
    traces = queries_of(read, pool, dataset.n_candidates, dataset.seed)
    queries: list[Query] = []
    for query in traces.queries:
        random = Random(f"misled/{query.id}")
        whole = [tree for tree in query.trees[1:] if len(tree.edges) == len(tree.labels) - 1]
        wrong = random.choice(whole)
        trees = [wrong, *perturbation.around(wrong, dataset.n_candidates, random)[0]]
        queries.append(replace(query, trees=trees, names=[str(place) for place in range(len(trees))]))
    return replace(traces, queries=queries)


def main() -> None:
    """Print the table."""
    folder = DATA / "ultratool"
    if not folder.is_dir():
        sys.exit(f"not measured: no {folder}")
    experiment = build.experiment(plain(compose(["+experiment=agents", f"dataset.path={folder}"])))
    assert isinstance(experiment.dataset, Agents)
    print("| features | top 1 | top 3 | mrr |\n| --- | --- | --- | --- |")
    for what, prepared in variants(experiment, experiment.dataset):
        every = tuple(prepared.past.columns)
        sets = {"all": every}
        if not what:
            sets |= {f"{name} alone": (name,) for name in every}
            sets |= {"the four classic ones": CLASSIC, "shape (no task, no past)": SHAPE}
            sets |= {"edges of the past": EDGES, "votes of past tasks": VOTES}
            for left_out, names in {"attached": ("attached",), "votes": VOTES, "edges of the past": EDGES}.items():
                sets[f"all but {left_out}"] = tuple(name for name in every if name not in names)
        for name, chosen in sets.items():
            print(f"| {what}{name} | {prepared.evaluated(chosen)} |", flush=True)


if __name__ == "__main__":
    main()

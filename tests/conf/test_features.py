"""No feature of a default set says again what another one says: the weights of such a pair cannot be read."""

from __future__ import annotations

import numpy as np
import pytest

from recx.config.compose import compose, plain
from recx.core.protocols import Featured
from recx.core.types import Array, Doubles
from recx.experiment import build
from recx.parts.shared.design_matrix import design_matrix, names_of

WORLDS = {
    "news": ["+experiment=news", "dataset.readers=400", "dataset.articles=100"],
    "basic": ["+experiment=news", "feature=basic", "retriever=union", "dataset.readers=400", "dataset.articles=100"],
    "tools": ["+experiment=tools"],
    "agents": ["+experiment=agents", "dataset.traces=150"],
    "documents": ["+experiment=rerank_benchmark", "feature=documents"],
    "columns": ["+experiment=rerank_benchmark"],
}
LISTS = 300
A_FUNCTION = 0.999


def explained(by: Array, table: Array) -> Array:
    """Return the share of the variance of each column that a continuous function of another feature accounts for.

    Rows next to each other in the order of the other feature, equal ones in random order, differ by what it leaves
    open: von Neumann (1941), Rice (1984).
    """
    order = np.lexsort((np.random.default_rng(0).random(len(by)), by))
    return 1 - np.square(np.diff(table[order], axis=0)).mean(axis=0) / (2 * table.var(axis=0))


def functions(columns: dict[str, Doubles]) -> list[tuple[str, str]]:
    varying = {name: column for name, column in columns.items() if np.ptp(column) > 0}
    table = np.stack(list(varying.values()), axis=1)
    return [
        (a, b)
        for a, column in varying.items()
        for b, share in zip(varying, explained(column, table), strict=True)
        if a != b and share > A_FUNCTION
    ]


def columns_of(*overrides: str) -> dict[str, Doubles]:
    """Return the features of the candidates that the ranker of a chain learns from."""
    experiment = build.experiment(plain(compose(overrides)))
    past = experiment.load_and_split()[1].past
    assert past is not None
    assert isinstance(experiment.ranker, Featured)
    found = experiment.retriever.fit(past.history).retrieve(past.history, past.requests, experiment.n_candidates)
    lists, requests = found[:LISTS], past.requests[:LISTS]
    table = design_matrix(experiment.ranker.features, lists, past.history, requests).astype(np.float64)
    return dict(zip(names_of(experiment.ranker.features, lists), table.T, strict=True))


@pytest.mark.parametrize("name", WORLDS)
def test_no_feature_is_a_function_of_another(name: str) -> None:
    ranker = () if name not in ("documents", "columns") else ("ranker=linear",)
    columns = columns_of(*WORLDS[name], *ranker)
    assert len(columns) > 2
    assert functions(columns) == []


def test_the_four_features_of_the_papers_have_such_a_pair() -> None:
    found = functions(columns_of("+experiment=tools", "feature=tools_classic"))
    assert found == [("phi_rel", "phi_struct"), ("phi_struct", "phi_rel")]

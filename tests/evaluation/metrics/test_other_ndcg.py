"""NDCG of other libraries: fractions by hand, what they share with the common one, and what the libraries say."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.evaluation.metrics.registry import metric, parse

NAMES = ("ndcg_lenskit_java", "ndcg_rectools", "ndcg_recbole")


def found(name, judged, k):
    return metric("ndcg", k=k, definition=name)(judged)


def test_one_list_by_hand(judge):
    """Targets of grade 3 at rank 2, 1 at rank 3, and one of grade 2 that is not shown."""
    judged = judge({0: [9, 0, 1, 8]}, {0: {0: 3.0, 1: 1.0, 2: 2.0}})
    java = 3 / 1 + 1 / log2(3)
    assert found("lenskit_java", judged, 4) == pytest.approx([java / (3 + 2 + 1 / log2(3))])
    assert found("lenskit_java", judged, 2) == pytest.approx([3 / (3 + 2)])
    binary = 1 / log2(3) + 1 / log2(4)
    first = [1, 1 / log2(3), 1 / log2(4), 1 / log2(5)]
    assert found("rectools", judged, 4) == pytest.approx([binary / sum(first)])
    assert found("rectools", judged, None) == pytest.approx([binary / sum(first)])  # a list of four
    assert found("recbole", judged, 4) == pytest.approx([binary / sum(first[:3])])
    assert found("recbole", judged, 2) == pytest.approx([(1 / log2(3)) / sum(first[:2])])
    assert parse("ndcg_at_4")(judged) == pytest.approx([(3 / log2(3) + 1 / log2(4)) / (3 + 2 / log2(3) + 1 / log2(4))])


def test_the_documented_examples_of_rectools(judge):
    """RecTools 0.19, docstring of NDCG, without its user 1, to whom nothing relevant is shown."""
    shown = {2: [1, 2], 3: [1, 2, 3, 4], 4: [1, 2, 3]}
    grades = {2: {1: 1.0}, 3: {1: 1.0, 3: 1.0, 4: 1.0}, 4: {1: 1.0, 2: 1.0, 3: 1.0}}
    judged = judge(shown, grades)
    assert found("rectools", judged, 1) == pytest.approx([1, 1, 1])
    assert found("rectools", judged, 3) == pytest.approx([0.46927873, 0.70391809, 1])


def test_a_graded_list_of_lenskit(judge):
    """What LensKit 2025.8.1 says: NDCG(n, discount=np.log2, gain="rating") of six items with ratings 5, 1, 3, 4."""
    judged = judge({0: [10, 11, 12, 13, 14, 15]}, {0: {11: 5.0, 13: 1.0, 15: 3.0, 20: 4.0}})
    assert found("lenskit_java", judged, 6) == pytest.approx([0.5846293009799763], rel=1e-12)
    assert found("lenskit_java", judged, 3) == pytest.approx([0.45901925396031107], rel=1e-12)


@given(
    shown=st.lists(st.integers(0, 15), unique=True, max_size=8),
    grades=st.dictionaries(st.integers(0, 15), st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=6),
    k=st.none() | st.integers(1, 10),
)
def test_laws(judge, shown, grades, k):
    judged = judge({0: shown}, {0: grades})
    ones = judge({0: shown}, {0: dict.fromkeys(grades, 1.0)})
    java, tools, bole = (found(name.removeprefix("ndcg_"), judged, k)[0] for name in NAMES)
    assert all(0 <= value <= 1 + 1e-12 for value in (java, tools, bole))
    assert bole == pytest.approx(metric("ndcg", k=k)(ones)[0])
    if k is not None:
        assert tools <= bole + 1e-12
        assert k > len(grades) or tools == pytest.approx(bole)
    hits = parse("hit" if k is None else f"hit_at_{k}")(judged)[0]
    assert {value > 0 for value in (java, tools, bole)} == {bool(hits)}


def test_a_definition_is_another_name_for_the_figure():
    for name in NAMES:
        assert metric("ndcg", k=5, definition=name.removeprefix("ndcg_")) == parse(f"{name}_at_5")
        assert parse(f"{name}_at_5").name == f"{name}_at_5"
    with pytest.raises(InputError, match="the metric 'dcg' has no definition"):
        metric("dcg", k=5, definition="recbole")
    with pytest.raises(InputError, match=r"definition=trec: choose one of: lenskit_java, recbole, rectools"):
        metric("ndcg", k=5, definition="trec")


def test_a_cut_that_no_ideal_list_can_have_is_refused(judge):
    judged = judge({0: [1]}, {0: {1: 1.0}})
    with pytest.raises(InputError, match="k is 10,000,000 at most"):
        metric("ndcg", k=2**62, definition="rectools")(judged)
    assert np.isfinite(metric("ndcg", k=2**62, definition="recbole")(judged)).all()

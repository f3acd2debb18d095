"""Wrong trees: each is one step from the right one, all are distinct and acyclic, and the root stays."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from recx.parts.dataset.perturbation import Perturbation, with_edge, with_moved_edge, without_edge, without_tool
from recx.parts.dataset.trees import Tree, order_of

NAMES = [f"tool{n}" for n in range(12)]
PERTURBATION = Perturbation(NAMES, list(range(1, 13)))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Return a tree of 2 to 7 nodes, one of which may have a second parent."""
    labels = ["task", *draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))]
    edges = {(draw(st.integers(0, node - 1)), node) for node in range(1, len(labels))}
    if draw(st.booleans()):
        node = draw(st.integers(1, len(labels) - 1))
        edges.add((draw(st.integers(0, node - 1)), node))
    return Tree(tuple(labels), tuple(sorted(edges)))


@given(trees(), st.integers(1, 20), st.integers(0, 1000))
@example(Tree(("task", "tool3"), ((0, 1),)), 10, 150)  # a dozen failed attempts at a tool must not end the search
def test_perturbed_trees_have_all_promised_properties(truth: Tree, n: int, seed: int) -> None:
    made, by_edge = PERTURBATION.around(truth, n, Random(seed))
    assert 0 <= by_edge <= n // 2
    assert len(made) == n
    forms = {truth.form(), *(tree.form() for tree in made)}
    assert len(forms) == n + 1
    for tree in made:
        assert tree.labels[0] == "task"
        assert len(tree.labels) > 1
        assert order_of(range(len(tree.labels)), tree.edges) is not None
        assert all(end != 0 for _, end in tree.edges)
        assert len(set(tree.edges)) == len(tree.edges)
    for tree in made[len(made) - by_edge :]:
        assert tree.labels == truth.labels
        assert abs(len(tree.edges) - len(truth.edges)) <= 1
    for tree in made[: len(made) - by_edge]:
        assert abs(len(tree.labels) - len(truth.labels)) <= 1
        old, new = Counter(truth.labels), Counter(tree.labels)
        assert sum((old - new).values()) <= 1
        assert sum((new - old).values()) <= 1
    assert made == PERTURBATION.around(truth, n, Random(seed))[0]


@given(trees(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_does_not_change_a_form(tree: Tree, random: Random) -> None:
    places = [0, *random.sample(range(1, len(tree.labels)), len(tree.labels) - 1)]
    new = {old: place for place, old in enumerate(places)}
    moved = Tree(tuple(tree.labels[place] for place in places), tuple((new[a], new[b]) for a, b in tree.edges))
    assert moved.form() == tree.form()


def test_a_form_distinguishes_shapes() -> None:
    chain = Tree(("r", "a", "b"), ((0, 1), (1, 2)))
    star = Tree(("r", "a", "b"), ((0, 1), (0, 2)))
    apart = Tree(("r", "a", "b"), ((0, 1),))
    turned = Tree(("r", "b", "a"), ((0, 1), (1, 2)))
    assert len({tree.form() for tree in (chain, star, apart, turned)}) == 4


def test_a_tool_that_goes_hands_its_children_to_its_parents() -> None:
    chain = Tree(("r", "a", "b", "c"), ((0, 1), (1, 2), (2, 3)))
    found = {without_tool(chain, Random(seed)) for seed in range(30)}
    assert found == {
        Tree(("r", "b", "c"), ((0, 1), (1, 2))),
        Tree(("r", "a", "c"), ((0, 1), (1, 2))),
        Tree(("r", "a", "b"), ((0, 1), (1, 2))),
    }
    assert without_tool(Tree(("r", "a"), ((0, 1),)), Random(0)) is None


def test_edges_of_a_small_tree_can_be_changed_in_few_ways() -> None:
    chain = Tree(("r", "a", "b"), ((0, 1), (1, 2)))
    assert {without_edge(chain, Random(seed)) for seed in range(30)} == {
        Tree(("r", "a", "b"), ((0, 1),)),
        Tree(("r", "a", "b"), ((1, 2),)),
    }
    added = {with_edge(chain, Random(seed)) for seed in range(50)}
    assert added == {None, Tree(("r", "a", "b"), ((0, 1), (1, 2), (0, 2)))}
    moved = {with_moved_edge(chain, Random(seed)) for seed in range(50)}
    assert moved == {None, Tree(("r", "a", "b"), ((0, 1), (0, 2)))}
    assert without_edge(Tree(("r",), ()), Random(0)) is None
    assert with_moved_edge(Tree(("r",), ()), Random(0)) is None
    assert with_edge(Tree(("r",), ()), Random(0)) is None


def test_tools_come_in_as_often_as_they_are_used() -> None:
    perturbation = Perturbation(["rare", "often"], [1, 10])
    tree = Tree(("r", "x"), ((0, 1),))
    random = Random(0)
    made = [perturbation.replaced(tree, random) for _ in range(2000)]
    share = sum(one is not None and one.labels[1] == "often" for one in made) / 2000
    assert 0.87 < share < 0.93

"""Wrong trees that look right: a tool replaced, taken out or put in, an edge taken out, put in or moved.

What could tell a wrong tree by its making alone is avoided where it can be: tools that come in are drawn as often as
the traces use them, a node that goes hands its children to its parents, one that comes may stand in the middle, and no
tree is left with its root alone. What remains: the right tree lies in the middle of its perturbations, and one that
lost an edge has come apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from recx.parts.dataset.trees import Edge, Tree, order_of

TRIES_BY_EDGE, TRIES_BY_TOOL = 12, 1_000
"""Attempts at one more tree of a kind before it is taken to be used up: tools make up for edges, nothing for tools."""


@dataclass(frozen=True)
class Perturbation:
    """Makes wrong trees. tools: those that may come in. shares: how often each is used, summed up from the first on."""

    tools: Sequence[str]
    shares: Sequence[float]

    def around(self, truth: Tree, n: int, random: Random) -> tuple[list[Tree], int]:
        """Return at most ``n`` trees, none like the truth or each other, and how many of them differ by an edge.

        Half differ by a tool and half by an edge; small trees have few edges to change, so that tools make up for it.
        The root stays.
        """
        taken = {truth.form()}
        tools, edges = (self.replaced, without_tool, self.added), (without_edge, with_edge, with_moved_edge)
        by_edge = self._more(truth, edges, (n // 2, TRIES_BY_EDGE), taken, random)
        by_tool = self._more(truth, tools, (n - len(by_edge), TRIES_BY_TOOL), taken, random)
        return by_tool + by_edge, len(by_edge)

    def _more(
        self,
        truth: Tree,
        ways: Sequence[Callable[[Tree, Random], Tree | None]],
        limits: tuple[int, int],
        taken: set[int],
        random: Random,
    ) -> list[Tree]:
        """Return new trees made in these ways; limits: how many at most, and attempts in vain before it gives up."""
        n, tries = limits
        found: list[Tree] = []
        failed = 0
        while len(found) < n and failed < tries:
            tree = random.choice(ways)(truth, random)
            form = 0 if tree is None else tree.form()
            if tree is None or form in taken:
                failed += 1
                continue
            taken.add(form)
            found.append(tree)
            failed = 0
        return found

    def _tool(self, random: Random) -> str:
        return random.choices(self.tools, cum_weights=self.shares)[0]

    def replaced(self, tree: Tree, random: Random) -> Tree | None:
        """Return the tree with another tool at a node below the root."""
        node = random.randrange(1, len(tree.labels))
        labels = list(tree.labels)
        labels[node] = self._tool(random)
        return Tree(tuple(labels), tree.edges)

    def added(self, tree: Tree, random: Random) -> Tree | None:
        """Return the tree with one node more, below any node; at even odds it takes over that node's children."""
        above, new = random.randrange(len(tree.labels)), len(tree.labels)
        between = random.random() < 0.5
        kept = [(new, end) if between and start == above else (start, end) for start, end in tree.edges]
        return Tree((*tree.labels, self._tool(random)), (*kept, (above, new)))


def without_tool(tree: Tree, random: Random) -> Tree | None:
    """Return the tree without a node, whose children go to its parents; None where only one is below the root."""
    if len(tree.labels) < 3:
        return None
    gone = random.randrange(1, len(tree.labels))
    parents = [start for start, end in tree.edges if end == gone]
    edges: dict[Edge, None] = {}
    for start, end in tree.edges:
        for above in parents if start == gone else [start]:
            if end != gone:
                edges[above - (above > gone), end - (end > gone)] = None
    return Tree(tree.labels[:gone] + tree.labels[gone + 1 :], tuple(edges))


def without_edge(tree: Tree, random: Random) -> Tree | None:
    """Return the tree without an edge; None where there is none."""
    if not tree.edges:
        return None
    gone = random.randrange(len(tree.edges))
    return Tree(tree.labels, tree.edges[:gone] + tree.edges[gone + 1 :])


def with_edge(tree: Tree, random: Random) -> Tree | None:
    """Return the tree with one edge more, not to the root; None where that makes a cycle or it is there."""
    if len(tree.labels) < 2:
        return None
    edge = random.randrange(len(tree.labels)), random.randrange(1, len(tree.labels))
    return None if edge in tree.edges else _acyclic(tree, (*tree.edges, edge))


def with_moved_edge(tree: Tree, random: Random) -> Tree | None:
    """Return the tree with an edge that comes from another node; None where that makes a cycle or it is there."""
    if not tree.edges:
        return None
    moved = random.randrange(len(tree.edges))
    edge = random.randrange(len(tree.labels)), tree.edges[moved][1]
    return None if edge in tree.edges else _acyclic(tree, (*tree.edges[:moved], edge, *tree.edges[moved + 1 :]))


def _acyclic(tree: Tree, edges: tuple[Edge, ...]) -> Tree | None:
    return None if order_of(range(len(tree.labels)), edges) is None else Tree(tree.labels, edges)

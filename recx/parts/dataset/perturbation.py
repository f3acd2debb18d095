"""Wrong trees that look right: a tool replaced, removed or added, an edge removed, added or moved.

What could identify a wrong tree by its making alone is avoided where possible: tools that are added are drawn as often
as the traces use them, the children of a removed node go to its parents, an added node may lie in the middle, and no
tree is left with its root alone. What remains: the right tree lies in the middle of its perturbations, and a tree that
lost an edge may be disconnected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from recx.parts.dataset.trees import Edge, Tree, order_of

TRIES_BY_EDGE, TRIES_BY_TOOL = 12, 1_000
"""Failed attempts at another tree before a kind is given up; changes of tools make up for missing changes of edges."""

Change = Callable[[Tree, Random], Tree | None]


@dataclass(frozen=True)
class Perturbation:
    """Makes wrong trees.

    Attributes:
        tools: names of the tools that may be put in.
        shares: cumulative frequencies of these tools.
    """

    tools: Sequence[str]
    shares: Sequence[float]

    def around(self, truth: Tree, n: int, random: Random) -> tuple[list[Tree], int]:
        """Return at most ``n`` distinct wrong trees, and how many of them differ from the truth by an edge.

        Half differ by a tool and half by an edge. Small trees have few edges to change: the rest then differ by a tool.
        The root never changes.
        """
        taken = {truth.form()}
        tools, edges = (self.replaced, without_tool, self.added), (without_edge, with_edge, with_moved_edge)
        by_edge = _distinct(truth, edges, (n // 2, TRIES_BY_EDGE), taken, random)
        by_tool = _distinct(truth, tools, (n - len(by_edge), TRIES_BY_TOOL), taken, random)
        return by_tool + by_edge, len(by_edge)

    def _tool(self, random: Random) -> str:
        return random.choices(self.tools, cum_weights=self.shares)[0]

    def replaced(self, tree: Tree, random: Random) -> Tree | None:
        """Return the tree with another tool at a node below the root."""
        node = random.randrange(1, len(tree.labels))
        labels = list(tree.labels)
        labels[node] = self._tool(random)
        return Tree(tuple(labels), tree.edges)

    def added(self, tree: Tree, random: Random) -> Tree | None:
        """Return the tree with one more node below any node, whose children it takes over with probability 1/2."""
        above, new = random.randrange(len(tree.labels)), len(tree.labels)
        between = random.random() < 0.5
        kept = [(new, end) if between and start == above else (start, end) for start, end in tree.edges]
        return Tree((*tree.labels, self._tool(random)), (*kept, (above, new)))


def _distinct(
    truth: Tree, changes: Sequence[Change], limits: tuple[int, int], taken: set[int], random: Random
) -> list[Tree]:
    """Return new trees made by these changes; limits: how many at most, and failed attempts before it gives up."""
    found: list[Tree] = []
    failed = 0
    while len(found) < limits[0] and failed < limits[1]:
        tree = random.choice(changes)(truth, random)
        failed += 1
        if tree is not None and (form := tree.form()) not in taken:
            taken.add(form)
            found.append(tree)
            failed = 0
    return found


def without_tool(tree: Tree, random: Random) -> Tree | None:
    """Return the tree without a node, whose children go to its parents; None if only one node is below the root."""
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
    """Return the tree without an edge; None if it has no edges."""
    if not tree.edges:
        return None
    gone = random.randrange(len(tree.edges))
    return Tree(tree.labels, tree.edges[:gone] + tree.edges[gone + 1 :])


def with_edge(tree: Tree, random: Random) -> Tree | None:
    """Return the tree with one more edge, not to the root; None if the edge exists or closes a cycle."""
    if len(tree.labels) < 2:
        return None
    edge = random.randrange(len(tree.labels)), random.randrange(1, len(tree.labels))
    return None if edge in tree.edges else _acyclic(tree, (*tree.edges, edge))


def with_moved_edge(tree: Tree, random: Random) -> Tree | None:
    """Return the tree with an edge moved to another parent; None if the edge exists or closes a cycle."""
    if not tree.edges:
        return None
    moved = random.randrange(len(tree.edges))
    edge = random.randrange(len(tree.labels)), tree.edges[moved][1]
    return None if edge in tree.edges else _acyclic(tree, (*tree.edges[:moved], edge, *tree.edges[moved + 1 :]))


def _acyclic(tree: Tree, edges: tuple[Edge, ...]) -> Tree | None:
    return None if order_of(range(len(tree.labels)), edges) is None else Tree(tree.labels, edges)

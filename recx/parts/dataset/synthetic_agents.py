"""Seeded synthetic traces: requests of a few domains, each answered by a chain or a small tree of the domain's tools.

A domain has words of its own and tools that follow each other in a usual order: the words of a request indicate which
tools it takes, and a tool indicates which one is likely to come next.
"""

from __future__ import annotations

from random import Random

from recx.parts.dataset.calling_graphs import Trace
from recx.parts.dataset.tool_pool import ToolPool

DOMAINS = ("flight", "hotel", "car", "mail", "file", "music", "alarm", "bank", "recipe", "weather", "parcel", "lesson")
ACTIONS = ("search", "compare", "book", "pay", "confirm", "cancel")
WORDS_PER_ACTION = 3
SKIPPED, BRANCHED, STRAY, MENTIONED = 0.45, 0.15, 0.05, 0.8
"""Probability that a step is left out, starts at an earlier one, is of another domain, or is named in the request."""


def make_traces(n: int, seed: int) -> tuple[ToolPool, list[Trace]]:
    """Return a pool of 72 tools and ``n`` traces of 1 to 6 tools; the same arguments give the same traces."""
    random = Random(seed)
    tools = {f"{domain}_{action}": (domain, action) for domain in DOMAINS for action in ACTIONS}
    texts = {name: f"{domain} {action} Tool to {action} a {domain}" for name, (domain, action) in tools.items()}
    words = {
        name: [f"{domain}{random.randrange(30)}" for _ in range(WORDS_PER_ACTION)]
        for name, (domain, _) in tools.items()
    }
    return ToolPool.of(texts), [_trace(number, words, random) for number in range(n)]


def _trace(number: int, words: dict[str, list[str]], random: Random) -> Trace:
    domain = random.choice(DOMAINS)
    steps = [action for action in ACTIONS if random.random() > SKIPPED] or [ACTIONS[0]]
    tools = [f"{random.choice(DOMAINS) if random.random() < STRAY else domain}_{action}" for action in steps]
    mentioned = [random.choice(words[tool]) for tool in tools if random.random() < MENTIONED]
    request = " ".join(["please help me with", f"{domain}:", *mentioned])
    labels = {"n0": request} | {f"n{place}": tool for place, tool in enumerate(tools, start=1)}
    tasks = {node: f"Call {label}" for node, label in labels.items()} | {"n0": request}
    edges = []
    for place in range(1, len(labels)):
        parent = random.randrange(place) if random.random() < BRANCHED else place - 1
        edges.append((f"n{parent}", f"n{place}"))
    return Trace(f"trace-{number}", tasks, labels, edges)

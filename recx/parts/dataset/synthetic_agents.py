"""Seeded made-up traces: requests of a few domains, each answered by a chain or a small tree of the domain's tools.

A domain has words of its own and tools that follow each other in a usual order, so that the words of a request tell
which tools it takes, and a tool tells which one is likely to come next.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from recx.parts.dataset.calling_graphs import Trace
from recx.parts.dataset.tool_pool import ToolPool, words_of_name

DOMAINS = ("flight", "hotel", "car", "mail", "file", "music", "alarm", "bank", "recipe", "weather", "parcel", "lesson")
ACTIONS = ("search", "compare", "book", "pay", "confirm", "cancel")
WORDS_PER_ACTION = 3
SKIPPED, BRANCHED, STRAY = 0.45, 0.15, 0.05
"""Chances that a step is left out, that a step starts at an earlier one, and that it is of another domain."""


def make_traces(n: int, seed: int) -> tuple[ToolPool, list[Trace]]:
    """Return a pool of 72 tools and ``n`` traces of 1 to 6 tools; the same arguments give the same traces."""
    random = Random(seed)
    names = [f"{domain}_{action}" for domain in DOMAINS for action in ACTIONS]
    pool = ToolPool.of(
        {name: f"{words_of_name(name)} Tool to {name.split('_')[1]} a {name.split('_')[0]}" for name in names}
    )
    words = {name: [f"{name.split('_')[0]}{random.randrange(30)}" for _ in range(WORDS_PER_ACTION)] for name in names}
    return pool, [_trace(number, words, random) for number in range(n)]


def _trace(number: int, words: dict[str, list[str]], random: Random) -> Trace:
    domain = random.choice(DOMAINS)
    steps = [action for action in ACTIONS if random.random() > SKIPPED] or [ACTIONS[0]]
    tools = [f"{random.choice(DOMAINS) if random.random() < STRAY else domain}_{action}" for action in steps]
    # A part of what a step does is said in the request.
    said = [random.choice(words[tool]) for tool in tools if random.random() < 0.8]
    request = " ".join(["please help me with", f"{domain}:", *said])
    tasks = {"n0": request} | {f"n{place}": f"Call {tool}" for place, tool in enumerate(tools, start=1)}
    labels = {"n0": request} | {f"n{place}": tool for place, tool in enumerate(tools, start=1)}
    return Trace(f"trace-{number}", tasks, labels, _edges(len(tools), random))


def _edges(n: int, random: Random) -> Sequence[tuple[str, str]]:
    edges = []
    for place in range(1, n + 1):
        above = random.randrange(place) if random.random() < BRANCHED else place - 1
        edges.append((f"n{above}", f"n{place}"))
    return edges

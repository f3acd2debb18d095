"""A seeded pool of tools with tasks that they answer.

A tool has words of its own and words of its topic, which a few tools share. Its description uses some of them, the
tasks that it answers use others: a task is near the description only in part, and nearer to what the tool answered
before. Few tools answer many tasks. Some tasks name the tool.
"""

from __future__ import annotations

import numpy as np

from recx.core.types import Array

TOPIC = 6  # tools that share a topic's words
WORDS, SHARED, COMMON = 14, 20, 150  # words of a tool, of a topic, and of everybody
IN_DESCRIPTION = 5  # of a tool's words stand in its description
DRAWS = (2, 3, 6)  # words of the tool, of its topic and of everybody in a task
NAMED = 0.05  # share of tasks that name the tool
MISTAKEN = 0.1  # share of tasks whose own words are another's tool's
STEPS = 3  # nodes that a trace has at most
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]

Made = list[tuple[str, str, str, str]]
"""Trace, node, task, tool."""


def make_tools(tasks: int, tools: int, seed: int) -> tuple[dict[str, str], Made]:
    """Return (name -> text of every tool, the tasks in traces of one to three); the same arguments give the same."""
    rng = np.random.default_rng(seed)
    topics = -(-tools // TOPIC)
    words = _words(COMMON + topics * SHARED + tools * WORDS, rng)
    common, rest = words[:COMMON], words[COMMON:]
    shared = rest[: topics * SHARED].reshape(topics, SHARED)
    own = rest[topics * SHARED :].reshape(tools, WORDS)
    topic = rng.permutation(np.arange(tools) // TOPIC)
    names = [f"{shared[topic[tool], 0]}_{own[tool, 0]}" for tool in range(tools)]
    texts = {names[tool]: _description(own[tool], shared[topic[tool]], common, rng) for tool in range(tools)}
    share = 1 / rng.permutation(np.arange(3, tools + 3))
    asked = rng.choice(tools, tasks, p=share / share.sum())
    spoken = np.where(rng.random(tasks) < MISTAKEN, rng.integers(tools, size=tasks), asked)
    traces = np.repeat(np.arange(tasks), rng.integers(1, STEPS + 1, tasks))[:tasks]
    node = np.arange(tasks) - np.searchsorted(traces, traces)
    made = []
    for task, (tool, seems) in enumerate(zip(asked, spoken, strict=True)):
        text = _task(own[seems], shared[topic[tool]], common, rng)
        if rng.random() < NAMED:
            text = f"{text} with {names[tool].replace('_', ' ')}"
        made.append((f"t{traces[task]:06}", str(node[task]), text, names[tool]))
    return texts, made


def _words(n: int, rng: np.random.Generator) -> Array:
    """Return so many different words of three syllables."""
    chosen = rng.choice(len(SYLLABLES) ** 3, n, replace=False)
    syllables = np.stack(np.unravel_index(chosen, (len(SYLLABLES),) * 3), axis=1)
    return np.array(["".join(SYLLABLES[number] for number in word) for word in syllables])


def _description(own: Array, shared: Array, common: Array, rng: np.random.Generator) -> str:
    said = [*own[:IN_DESCRIPTION], *rng.choice(shared, 5, replace=False), *rng.choice(common, 8, replace=False)]
    return " ".join(rng.permutation(said))


def _task(own: Array, shared: Array, common: Array, rng: np.random.Generator) -> str:
    said = [rng.choice(words, n, replace=False) for words, n in zip((own, shared, common), DRAWS, strict=True)]
    return " ".join(rng.permutation(np.concatenate(said)))

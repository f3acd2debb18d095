"""A seeded pool of tools with tasks that they solve.

A tool has words of its own and words of its topic, which a few tools share. Its description uses some of them, the
tasks that it solves use others: a task resembles the description only in part, and resembles the tool's earlier tasks
more. Few tools solve most of the tasks. Some tasks name the tool.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recx.core.types import Array

TOPIC = 6  # tools per topic
WORDS, SHARED, COMMON = 14, 20, 150  # words of a tool, of a topic, and common words
IN_DESCRIPTION = 5  # words of the tool in its description
DRAWS = (2, 3, 6)  # words of the tool, of its topic and common words in a task
NAMED = 0.05  # share of tasks that name the tool
MISTAKEN = 0.1  # share of tasks that use the words of another tool
STEPS = 3  # maximum number of nodes of a trace
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]

Made = list[tuple[str, str, str, str]]
"""Trace, node, task, tool."""


def make_tools(tasks: int, tools: int, seed: int) -> tuple[dict[str, str], Made]:
    """Return the text of every tool by name, and the tasks in traces of one to three nodes; seeded."""
    rng = np.random.default_rng(seed)
    topics = -(-tools // TOPIC)
    words = _words(COMMON + topics * SHARED + tools * WORDS, rng)
    common, shared, own = np.split(words, [COMMON, COMMON + topics * SHARED])
    own = own.reshape(tools, WORDS)
    shared = shared.reshape(topics, SHARED)[rng.permutation(np.arange(tools) // TOPIC)]  # of each tool
    names = [f"{topic}_{word}" for topic, word in zip(shared[:, 0], own[:, 0], strict=True)]
    texts = {
        name: _text(rng, ((shared[tool], 5), (common, 8)), own[tool, :IN_DESCRIPTION])
        for tool, name in enumerate(names)
    }
    share = 1 / rng.permutation(np.arange(3, tools + 3))
    asked = rng.choice(tools, tasks, p=share / share.sum())
    spoken = np.where(rng.random(tasks) < MISTAKEN, rng.integers(tools, size=tasks), asked)
    traces = np.repeat(np.arange(tasks), rng.integers(1, STEPS + 1, tasks))[:tasks]
    node = np.arange(tasks) - np.searchsorted(traces, traces)
    made = []
    for task, (tool, seems) in enumerate(zip(asked, spoken, strict=True)):
        text = _text(rng, zip((own[seems], shared[tool], common), DRAWS, strict=True))
        if rng.random() < NAMED:
            text = f"{text} with {names[tool].replace('_', ' ')}"
        made.append((f"t{traces[task]:06}", str(node[task]), text, names[tool]))
    return texts, made


def _words(n: int, rng: np.random.Generator) -> Array:
    """Return ``n`` distinct words of three syllables."""
    chosen = rng.choice(len(SYLLABLES) ** 3, n, replace=False)
    syllables = np.stack(np.unravel_index(chosen, (len(SYLLABLES),) * 3), axis=1)
    return np.array(["".join(SYLLABLES[number] for number in word) for word in syllables])


def _text(rng: np.random.Generator, draws: Iterable[tuple[Array, int]], fixed: Iterable[str] = ()) -> str:
    """Return the fixed words and as many of each array as it says, shuffled."""
    chosen = [*fixed, *(word for words, n in draws for word in rng.choice(words, n, replace=False))]
    return " ".join(rng.permutation(chosen))

"""What an answer says: an order of numbered candidates, or a grade. What it does not say is never made up."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from recx_llm.prompts import MAX_GRADE, Prompt

BROKEN, DOUBLED, FOREIGN, MISSING = "broken", "doubled", "foreign", "missing"
"""What is counted: answers that cannot be read, and numbers that are repeated, unknown or left out."""
LONGEST = 1 << 16
"""Characters of an answer that are read."""
_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)

Steps = Generator[str, str | None, list[int]]
"""Yields prompts, is sent the answer to each (None: there is none yet), and returns the new order, best first."""


def steps(
    prompt: Prompt,
    query: str,
    history: Sequence[str],
    items: Sequence[str],
    window: int,
    stride: int,
    tally: Counter[str],
) -> Steps:
    """Return the dialogue about one list.

    Args:
        prompt: The prompt.
        query: The user's text.
        history: The texts of the items that the user chose before.
        items: The texts of the candidates, in their order.
        window: Candidates in a prompt (listwise).
        stride: Candidates by which the window moves (listwise).
        tally: Gets the counts of what was wrong with the answers.
    """

    def of(numbers: Sequence[int]) -> str:
        return prompt.text(query, history, [items[number] for number in numbers])

    if prompt.mode == "pointwise":
        grades = []
        for number in range(len(items)):
            answer = yield of([number])
            grades.append(None if answer is None else _counted(grade_in(answer), tally))
        return order_of(grades)
    order = list(range(len(items)))
    for start, stop in windows(len(items), window, stride):
        answer = yield of(order[start:stop])
        found = None if answer is None else _counted(numbers_in(answer, stop - start, tally), tally)
        if found is not None:
            order[start:stop] = [order[start + place] for place in found]
    return order


def windows(n: int, window: int, stride: int) -> Iterator[tuple[int, int]]:
    """Yield the borders of the windows over a list, from its end upwards to its first (Sun et al. 2023, RankGPT)."""
    stop = n
    while stop > 1:
        start = max(0, stop - window)
        yield start, stop
        if start == 0:
            return
        stop -= stride


def order_of(grades: Sequence[float | None]) -> list[int]:
    """Return the places of the candidates by their grades, best first, ties in their order.

    A candidate without a grade keeps its place.
    """
    graded = [place for place, grade in enumerate(grades) if grade is not None]
    best = iter(sorted(graded, key=lambda place: -float(grades[place] or 0)))  # sorted() keeps the order of ties
    return [place if grade is None else next(best) for place, grade in enumerate(grades)]


def grade_in(text: str) -> float | None:
    """Return the grade in an answer, a number from 0 to ``MAX_GRADE``; None if it cannot be read."""
    found = _value(text)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= MAX_GRADE:
        return None
    return float(found)


def numbers_in(text: str, n: int, tally: Counter[str]) -> list[int] | None:
    """Return the order of ``n`` candidates that an answer gives, as places from 0.

    Doubled numbers count once, where they come first; foreign ones are dropped; those that are missing follow in their
    old order. Each of them is counted.

    Returns:
        The order; None if the answer is no JSON list, or has no number of a candidate.
    """
    found = _value(text)
    if not isinstance(found, list):
        return None
    known = [one - 1 for one in found if type(one) is int and 1 <= one <= n]
    if not known:
        return None
    order = list(dict.fromkeys(known))
    rest = [place for place in range(n) if place not in set(order)]
    tally.update({FOREIGN: len(found) - len(known), DOUBLED: len(known) - len(order), MISSING: len(rest)})
    return order + rest


def _value(text: str) -> Any:
    """Return the JSON value that an answer consists of; None if it is none.

    Thoughts before it are left aside, and so is a fence of code around it, and an object of one member, as endpoints
    demand that enforce a schema.
    """
    text = _THOUGHT.sub("", text[:LONGEST], count=1).strip()
    fenced = _FENCE.fullmatch(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None
    return next(iter(found.values())) if isinstance(found, dict) and len(found) == 1 else found


def _counted(found: Any, tally: Counter[str]) -> Any:
    tally[BROKEN] += found is None
    return found

"""What the name of a column says that it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from recx.core.errors import InputError

USERS = (
    "user|u|username|visitor|customer|client|session|reviewer|reader|member|account|buyer|guest|person|player|listener|"
    "viewer"
)
ITEMS = (
    "item|i|movie|sku|asin|product|article|track|song|artist|book|isbn|business|video|news|document|doc|listing|venue|"
    "poi|game|recipe|hotel|restaurant"
)
TIMES = "time|ts|timestamp|unixtime|unixreviewtime|date|datetime|eventdate|eventtime|timeframe|at"
CLICKS = "clicks?|clicked|liked?|purchased?|bought|chosen|selected|relevant|positive|labels?"
"""Whether something was chosen: 0 where it was only shown."""
OPINIONS = "ratings?|score|overall|stars?"
"""How much something was liked: a low number is no sign of interest."""
GRADES = f"grades?|relevance|relevancy|rel|gain|judge?ments?|{CLICKS}"
"""How relevant something is."""
REACTIONS = (
    "feedback|preference|pref|target|outcome|response|reward|utility|usefulness|importance|points|votes?|upvotes?|"
    "(is)?(buy|watched|viewed|played|installed|converted|followed|interacted|engaged|interested|favou?rite)|follow|"
    "install|conversion|interaction|engagement|interest|implicit|hits?|counts?|qty|quantity|watch_?ratio|ratio|y|qrel"
)
"""What came of it that an item was shown, or how much."""
WEIGHTS = f"weight|strength|value|{OPINIONS}|{REACTIONS}"
"""Numbers that may be grades, or may not."""
RANKS = "ranks?|ranking|position|pos"
"""The place of an item in a list."""
SYSTEMS = "algorithm|algo|system|recommender|model|method|approach"
"""What made a list, where a table holds the lists of several."""
KINDS_OF_EVENTS = "type|event|action|behaviou?r|interaction|feedback|reaction|status"
"""What a row of a log says that happened, in words."""
NOT_CHOSEN = (
    "impressions?|shown?|exposures?|exposed|display(ed)?|(not|no|un)[_ -]?click(ed)?|skip(ped)?|disliked?|ignored|"
    "neg(ative)?"
)
"""Kinds of events in which an item was shown, but not chosen."""


def recognised(words: str, names: Iterable[str]) -> list[str]:
    """Return the names whose last word is one of ``words`` (alternatives of a pattern), with or without ``id``."""
    return [name for name in names if re.fullmatch(f"({words})(id)?", _last_word(name))]


def column_of_grades(names: Sequence[str], only_ones: Callable[[str], bool], where: str) -> str | None:
    """Return which of the columns of judgements holds the grades; None: every row counts 1.

    Args:
        names: The columns that may hold grades.
        only_ones: Whether a column is 1 in every row, so that it says nothing.
        where: The table, for errors.

    Raises:
        InputError: There are several, or it is not clear whether a column holds grades.
    """
    named = recognised(GRADES, names)
    if len(named) > 1:
        columns = " or ".join(map(repr, named))
        raise InputError(f"{where}: the grades could be in the column {columns}: call one of them grade")
    unclear = [] if named else [name for name in recognised(WEIGHTS, names) if not only_ones(name)]
    if unclear:
        raise InputError(
            f"{where}: there is no column grade but a column {unclear[0]}: rename it to grade, or drop it so that "
            "every row counts 1"
        )
    return named[0] if named else None


def _last_word(column: str) -> str:
    """Return the last word of a column's name in lower case, without its type (``user_id:token``) and ``id``."""
    name = re.sub("([a-z])([A-Z])", r"\1 \2", column.partition(":")[0]).lower()
    words: list[str] = re.findall("[a-z0-9]+", name) or [""]
    return words[-2] if len(words) > 1 and words[-1] == "id" else words[-1]

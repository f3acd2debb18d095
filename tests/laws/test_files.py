"""Files of any dialect, through the doors, hold what tests/plain/plain_tables.py reads; or one sentence says why not.

Refusing is no way out: the share of the unambiguous files that are read is asserted.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plain_protocol
import plain_tables as plain
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

import recx
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.table import Table

EXAMPLES = settings.default.max_examples
ENDINGS = {",": ["csv", "txt"], "\t": ["tsv", "inter", "txt"], ";": ["csv", "txt"], "|": ["csv", "txt"]}
"""Delimiter -> endings of files; the reader is never told the delimiter."""
START = datetime(2017, 7, 14, tzinfo=UTC)
FIGURES = ["hit_at_1", "ndcg_at_3", "recall_at_2", "mrr"]

# ---- what the columns hold ----

MARKED = "ab7é猫 .,;|:'\"\t\n\r"
TEXTS = {
    "whole": st.integers(0, 12).map(str),
    "signed": st.integers(-3, 10**18 - 1).map(str),
    "long": st.integers(10**18, 10**20).map(str),
    "zeros": st.integers(0, 12).map("{:03}".format),
    "mixed": st.sampled_from(["7", "007", "a7", "A7", "-", "7.0", "x 7", "7e1"]),
    "unicode": st.sampled_from(["é", "ü", "ö", "e\u0301", "猫", "ß", "ss", "Ω", "🐈", "a\u00a0b"]),
    "quotes": st.sampled_from(['5" nail', 'the "best" one', "O'Neill", 'x""y', "plain"]),
    "marked": st.text(MARKED, min_size=1, max_size=6).filter(lambda text: text.strip() == text != ""),
}
UNITS = {
    "s": lambda n: str(1_500_000_000 + n),
    "ms": lambda n: str(1_500_000_000_000 + n),
    "us": lambda n: str((1_500_000_000_000 + n) * 1_000),
    "ns": lambda n: str((1_500_000_000_000 + n) * 1_000_000),
}
ISO = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S+02:00")
WEIGHTS = st.sampled_from(["1", "2", "2.5", "1e-3", ".5", "5.", "3.25"])


@st.composite
def dialects(draw: st.DrawFn) -> tuple[plain.Dialect, str]:
    """Return a dialect and the ending of the file's name."""
    mark = draw(st.sampled_from([*ENDINGS, "::", " "]))
    dialect = plain.Dialect(
        mark,
        draw(st.sampled_from(["minimal", "all", "none"])) if len(mark) == 1 else "none",
        draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])),
        draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])),
        *(draw(st.booleans()) for _ in range(2)),
        draw(st.sampled_from(["", "", "gz", "bz2", "zip"])),
    )
    return dialect, draw(st.sampled_from(ENDINGS.get(mark, ["txt", "dat"])))


def fits(value: str, how: plain.Dialect) -> bool:
    """Return whether a value can be written in this dialect so that it can be read in one way only."""
    if how.quoting == "none":
        return not any(c in value for c in (how.mark, "\r", "\n", ":" if how.mark == "::" else how.mark)) and not (
            value.startswith('"') or value.endswith('"')
        )
    return True


@dataclass(frozen=True)
class Written:
    """A table as text, and how it is written."""

    rows: list[list[str]]  # the header first
    how: plain.Dialect
    ending: str
    titled: bool = True  # whether the file has the header

    @contextmanager
    def file(self, stem: str = "events") -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{stem}.{self.ending}{'.' * bool(self.how.packed)}{self.how.packed}"
            path.write_bytes(plain.write(self.rows[not self.titled :], self.how))
            yield path

    def plainly(self) -> list[dict[str, str]]:
        return plain.read(plain.write(self.rows, self.how), self.how)

    @property
    def clear(self) -> bool:
        """Whether there is one way to read the file: latin-1 cannot be told from other encodings of bytes."""
        return self.how.encoding != "latin-1" or all(cell.isascii() for row in self.rows for cell in row)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Written, str | None]:
    """Return a table of events in a random dialect, and the unit of its times."""
    how, ending = draw(dialects())
    columns: dict[str, st.SearchStrategy[str]] = {
        role: draw(st.sampled_from(list(TEXTS.values()))) for role in ("user", "item")
    }
    unit = draw(st.sampled_from([None, *UNITS, "iso"]))
    if unit:
        columns["time"] = times(unit)
    if draw(st.booleans()):
        columns["weight"] = WEIGHTS
    if draw(st.booleans()):
        columns["note"] = TEXTS["marked"]
    names = draw(st.permutations(list(columns)))
    rows = draw(
        st.lists(
            st.tuples(*(columns[name].filter(lambda value: fits(value, how)) for name in names)).map(list),
            min_size=1,
            max_size=8,
        )
    )
    if how.encoding == "latin-1":
        assume(all(ord(c) < 256 for row in rows for cell in row for c in cell))
    titled = draw(st.integers(0, 3)) > 0
    if titled and draw(st.integers(0, 9)) == 0:
        rows.insert(draw(st.integers(0, len(rows))), list(names))
    return Written([list(names), *rows], how, ending, titled), unit


def times(unit: str) -> st.SearchStrategy[str]:
    if unit != "iso":
        return st.integers(0, 50).map(UNITS[unit])
    moment = st.integers(0, 10**6).map(lambda n: START + timedelta(milliseconds=100 * n))
    return st.builds(lambda time, form: time.strftime(form), moment, st.sampled_from(ISO))


# ---- the share that is read ----


class Shares:
    """Counts files that were read, refused, and refused though there is one way to read them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.lines = 1  # of the longest reason

    def read(self, reading: Callable[[], Any], clear: bool) -> Any:
        """Return what was read; None: it was refused, by one sentence."""
        self.counts["files"] += 1
        self.counts["clear"] += clear
        try:
            found = reading()
        except InputError as error:
            self.lines = max(self.lines, len(str(error).splitlines()))
            self.counts["clear and refused"] += clear
            self.reasons[str(error).rpartition("/")[2]] += clear
            return None
        self.counts["read"] += 1
        return found

    def check(self, at_least: float = 0.95) -> None:
        assert self.lines == 1
        assert self.counts["clear"] > 0.5 * self.counts["files"]
        assert self.counts["clear and refused"] <= (1 - at_least) * self.counts["clear"], self.reasons.most_common(5)


def of_examples(n: int, strategy: Any, check: Callable[[Any], None]) -> None:
    @seed(0)
    @settings(max_examples=n, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def checked(example: Any) -> None:
        check(example)

    checked()


# ---- events ----


def events_of(loaded: Interactions) -> list[tuple[Any, Any, int | None, float]]:
    time = [None] * len(loaded) if loaded.time is None else loaded.time.tolist()
    user, item = (of.ids[number].tolist() for of, number in ((loaded.users, loaded.user), (loaded.items, loaded.item)))
    return list(zip(user, item, time, loaded.weight.tolist(), strict=True))


def expected_events(rows: list[dict[str, str]], unit: str | None) -> list[tuple[Any, Any, int | None, float]]:
    """Return the events of the rows, users by first appearance, each one's oldest first."""
    user, item = (plain.ids([row[role] for row in rows]) for role in ("user", "item"))
    moment = [plain.exact_time(row["time"], unit) if unit else None for row in rows]
    weight = [float(np.float32(float(row.get("weight", 1)))) for row in rows]
    order = sorted(range(len(rows)), key=lambda at: (user.index(user[at]), moment[at] or 0))
    return [(user[at], item[at], int(moment[at]) if unit else None, weight[at]) for at in order]


def test_events_are_those_of_a_plain_reader() -> None:
    shares = Shares()

    def check(example: tuple[Written, str | None]) -> None:
        written, unit = example
        rows = written.plainly()
        assume(rows)
        names = written.rows[0]
        columns = {name: name for name in ("user", "item", "time", "weight") if name in names}
        if not written.titled:
            columns = {name: names.index(name) for name in columns}
        given = {"time": None, "weight": None, **columns, "header": written.titled}
        if not written.titled:  # few rows often fit several delimiters
            given["delimiter"] = "\\t" if written.how.mark == "\t" else written.how.mark
        floats = any(plain.looks_like_floats([row[role] for row in rows]) for role in ("user", "item"))
        with written.file() as path:
            table = Table(str(path), **given, order="given", time_unit=unit or "ms", duplicates="keep")
            loaded = shares.read(table.load, written.clear and not floats)
        if loaded is not None:
            assert events_of(loaded) == expected_events(rows, unit)
            assert loaded.notes.get("repeated_headers", 0) == len(written.rows) - 1 - len(rows)

    of_examples(2 * EXAMPLES, tables(), check)
    shares.check()


# ---- Parquet and frames ----

TYPES = {
    "int": [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()],
    "text": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "time": [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.int64()],
    "weight": [pa.float32(), pa.float64(), pa.int16(), pa.uint8()],
}


@st.composite
def typed(draw: st.DrawFn) -> tuple[pa.Table, list[tuple[Any, Any, int, float]]]:
    """Return an Arrow table of events, and its rows."""
    n = draw(st.integers(1, 8))
    user = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    item = draw(st.lists(st.sampled_from(["a", "007", "7", "é", 'x"y', "猫\n"]), min_size=n, max_size=n))
    time = draw(st.lists(st.integers(0, 99), min_size=n, max_size=n))
    weight = draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    kinds = {name: draw(st.sampled_from(of)) for name, of in TYPES.items()}
    ms = [1_500_000_000_000 + 1_000 * at for at in time]
    moments = ms if kinds["time"] == pa.int64() else [datetime.fromtimestamp(at // 1_000, UTC) for at in ms]
    columns = {
        "user": pa.array(user, kinds["int"]),
        "item": pa.array(item, pa.string()).cast(kinds["text"]),
        "time": pa.array(moments, pa.int64() if moments is ms else pa.timestamp("us", "UTC")).cast(kinds["time"]),
        "weight": pa.array(weight, kinds["weight"]),
    }
    table = pa.table({name: columns[name] for name in draw(st.permutations(list(columns)))})
    number = item if any(value not in ("7",) for value in item) else [7] * n
    rows = list(zip(user, number, ms, map(float, weight), strict=True))
    return table, sorted(rows, key=lambda row: (user.index(row[0]), row[2]))


def test_events_of_any_type_are_read() -> None:
    shares = Shares()

    def check(example: tuple[pa.Table, list[Any]]) -> None:
        table, expected = example
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "events.parquet"
            pq.write_table(table, path)
            part = Table(str(path), time="time", weight="weight", duplicates="keep")
            loaded = shares.read(part.load, clear=True)
        assert loaded is None or events_of(loaded) == expected
        frame = table.to_pandas()
        if frame["time"].dtype.kind == "M":
            frame["time"] = [moment.value // 1_000_000 for moment in frame["time"]]
        known = shares.read(lambda: Interactions.from_frame(frame), clear=True)
        assert known is None or [(user, str(item), *more) for user, item, *more in events_of(known)] == [
            (user, str(item), *more) for user, item, *more in expected
        ]

    of_examples(EXAMPLES, typed(), check)
    shares.check(1.0)


# ---- lists and truths ----

IDS = {
    "whole": [str(n) for n in range(8)],
    "zeros": [f"{n:03}" for n in range(8)],
    "text": ["a", "b7", "é", "猫", "x.y", "q-1", "z", "ü"],
    "quotes": ['5" nail', 'the "best"s', "x;y", "a|b", "c,d", "e\tf", "g h", "i\nj"],
}
HEADERS = {
    "user": ["user", "query_id", "qid", "query-id"],
    "item": ["item", "doc_id", "document_id", "corpus-id"],
    "grade": ["grade", "relevance", "rel", "label"],
}


@st.composite
def judgements(draw: st.DrawFn) -> tuple[Written, Written]:
    """Return lists and truth of the same users and items, in dialects of their own."""
    users, items = (IDS[draw(st.sampled_from(list(IDS)))] for _ in range(2))
    pairs = st.lists(st.tuples(st.sampled_from(users), st.sampled_from(items)), min_size=1, max_size=10, unique=True)
    rng = random.Random(draw(st.integers(0, 2**32)))
    value = draw(st.sampled_from(["score", "rank"]))
    fractions = ["1e-3", "0.25", "3", ".5", "2.", "-1", "0.1", "7", "12", "1e300"]
    numbers = draw(st.sampled_from([fractions, ["0", "1", "12", "-3", "9007199254740993", "9007199254740992"]]))
    lists = [[*pair, rng.choice(numbers)] for pair in draw(pairs)]
    truth = [[*pair, rng.choice("0123")] for pair in draw(pairs)]
    written = [("user", "item", value), lists], [("user", "item", "grade"), truth]
    return tuple(draw(as_trec(*table) if draw(st.integers(0, 3)) == 0 else laid_out(*table)) for table in written)


@st.composite
def as_trec(draw: st.DrawFn, roles: tuple[str, ...], rows: list[list[str]]) -> Written:
    """Return a run or qrels in TREC's format, which has no header."""
    assume("rank" not in roles and not any(c in cell for row in rows for cell in row for c in " \t\n"))
    mark, filler = draw(st.sampled_from([" ", "\t"])), draw(st.sampled_from(["Q0", "q0", "0"]))
    end, encoding = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    packed = draw(st.sampled_from(["", "gz"]))
    how = plain.Dialect(mark, "none", end, encoding, *(draw(st.booleans()) for _ in range(2)), packed)
    if "grade" in roles:
        lines = [["user", "q0", "item", "grade"], *([user, filler, item, grade] for user, item, grade in rows)]
        return Written(lines, how, draw(st.sampled_from(["txt", "qrels"])), titled=False)
    lines = [["user", "q0", "item", "rank", "score", "tag"]]
    for at, (user, item, score) in enumerate(rows):
        ahead = [float(s) > float(score) or (s == score and n < at) for n, (of, _, s) in enumerate(rows) if of == user]
        lines.append([user, filler, item, str(sum(ahead) + 1), score, "run"])
    return Written(lines, how, draw(st.sampled_from(["txt", "run"])), titled=False)


@st.composite
def laid_out(draw: st.DrawFn, roles: tuple[str, ...], rows: list[list[str]]) -> Written:
    """Return a table in a random dialect that fits its values, with its columns named as in search or as in recx."""
    how, ending = draw(dialects())
    assume(how.encoding != "latin-1" and all(fits(cell, how) for row in rows for cell in row))
    kind = draw(st.integers(0, 3))
    names = [HEADERS.get(role, [role] * 4)[kind] for role in roles]
    if draw(st.booleans()):
        names, rows = [*names, "title"], [[*row, 'A "title", of: an item'.replace(how.mark, "_")] for row in rows]
    order = draw(st.permutations(range(len(names))))
    return Written([[row[at] for at in order] for row in [names, *rows]], how, ending)


def plain_rows(written: Written, value: str) -> list[tuple[str, str, float]]:
    """Return user, item and value of every row; whole numbers stay exact."""
    roles = [next(name for name in written.rows[0] if name in [role, *HEADERS.get(role, [])]) for role in ROLES[value]]
    rows = [[row[name] for name in roles] for row in written.plainly()]
    return [(user, item, int(n) if n.isdigit() else float(n)) for user, item, n in rows]


ROLES = {value: ("user", "item", value) for value in ("score", "rank", "grade")}


def expected_values(lists: list[Any], truth: list[Any], value: str) -> dict[str, dict[str, float]]:
    """Return user -> figure -> value of every user with a target of grade 1 or more."""
    values = {}
    for user in dict.fromkeys(user for user, _, _ in truth):
        gains = {item: grade for of, item, grade in truth if of == user and grade > 0}
        if gains:
            mine = [(item, number if value == "rank" else -number) for of, item, number in lists if of == user]
            shown = [item for item, _ in sorted(mine, key=lambda row: row[1])]
            of = {k: plain_protocol.figures(shown, gains, 1, k) for k in (1, 2, 3, None)}
            named = zip(FIGURES, ((1, "hit"), (3, "ndcg"), (2, "recall"), (None, "mrr")), strict=True)
            values[user] = {figure: of[k][name] for figure, (k, name) in named}
    return values


def test_lists_and_truths_are_those_of_a_plain_reader() -> None:
    shares = Shares()

    def check(example: tuple[Written, Written]) -> None:
        lists, truth = example
        value = "score" if "score" in lists.rows[0] else "rank"
        shown = plain_rows(lists, value)
        expected = expected_values(shown, plain_rows(truth, "grade"), value)
        assume(set(expected) & {user for user, _, _ in shown})
        with lists.file("lists") as ours, truth.file("truth") as theirs:
            found = shares.read(lambda: recx.evaluate(ours, theirs, FIGURES), clear=True)
        if found is not None:
            per_user = found.per_user.assign(user=found.per_user["user"].astype(str)).set_index("user")
            assert per_user.index.tolist() == list(expected)
            for user, values in expected.items():
                assert per_user.loc[user].to_dict() == pytest.approx(values, abs=1e-9)
            check_comparison(found, expected)

    of_examples(EXAMPLES, judgements(), check)
    shares.check()


def check_comparison(found: recx.Evaluation, expected: dict[str, dict[str, float]]) -> None:
    """Compare the evaluation with one of lists that show every target first, as if both had the same targets."""
    ideal = pd.DataFrame(
        [(user, item, 1.0) for user, item in zip(found.users, range(len(found.users)), strict=True)],
        columns=["user", "item", "grade"],
    )
    best = recx.evaluate(ideal.rename(columns={"grade": "score"}), ideal, ["mrr"])
    alike = [replace(evaluation, truth=None) for evaluation in (best, found)]
    table = recx.compare(*alike, metrics=["mrr"], resamples=2).table
    mean = sum(values["mrr"] for values in expected.values()) / len(expected)
    assert table["difference"].tolist() == pytest.approx([mean - 1])

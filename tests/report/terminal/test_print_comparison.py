"""A comparison as text, JSON and HTML."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from recx.core.evaluation import Evaluation
from recx.evaluation.compare import Comparison, compare
from recx.report.terminal.print_comparison import json_of, print_comparison


def evaluation(name: str, seed: int, n: int = 40, **rules: Any) -> Evaluation:
    rng = np.random.default_rng(seed)
    values = {
        "end_to_end/ndcg_at_10": rng.random(n) + seed,
        "ranking/hit_at_5": np.where(np.arange(n) < seed, np.nan, 1),
    }
    slices = {"history_length": np.arange(n) % 8.0}
    return Evaluation(np.arange(n), values, slices=slices, name=name, rules=rules)


def comparison(*names: str, n: int = 40, **settings: Any) -> Comparison:
    runs = [evaluation(name, seed, n, seen=str(seed)) for seed, name in enumerate(names)]
    return compare(*runs, resamples=100, draws=100, **settings)


def printed(found: Comparison, width: int = 100, **of_console: Any) -> str:
    out = io.StringIO()
    print_comparison(Console(file=out, width=width, **of_console), found)
    return out.getvalue()


def test_figures_are_aligned_with_their_heads() -> None:
    found = comparison("a", "b")
    lines = printed(found).splitlines()
    start = lines.index("end_to_end/ndcg_at_10")
    head, first, second, against_head, against = (line.split() for line in lines[start + 1 : start + 6])
    row = found.table.iloc[0]
    assert head == ["run", "users", "mean", "low", "high"]
    assert first[:3] == ["a", "40", f"{row['mean_baseline']:.4f}"]
    assert second == ["b", "40", *(f"{row[name]:.4f}" for name in ("mean_run", "mean_run_low", "mean_run_high"))]
    assert " ".join(against_head) == "difference mean low high relative win/tie/loss d_z p t p flip Holm"
    assert against[:2] == ["b", f"{row['difference']:+.4f}"]
    assert against[4:8] == [f"{100 * row['relative']:+.1f}", "%", "40/0/0", f"{row['d_z']:+.2f}"]
    assert against[8] == "<.0001"
    assert against[-1] == f"{row['p_holm']:.4f}"
    places = [
        line.index(word) + len(word)
        for line, word in zip(lines[start + 1 : start + 3], ["high", first[-1]], strict=True)
    ]
    assert places[0] == places[1]


def test_warnings_come_before_the_figures() -> None:
    text = printed(comparison("a", "b"))
    first = "  • the protocol cards of a and b differ, so their figures may mean different things:\n  • seen: 0 vs 1\n"
    assert text.startswith(f"b against a\n\nread this first\n{first}")
    assert text.index("protocol cards") < text.index("end_to_end/ndcg_at_10")
    assert "95 % percentile bootstrap over users, 100 resamples" in text
    assert "family of 2 comparisons" in " ".join(text.split())


def test_without_warnings_there_is_no_section_for_them() -> None:
    a, b = (evaluation(name, seed) for name, seed in (("a", 0), ("b", 3)))
    text = printed(compare(a, b, ["end_to_end/ndcg_at_10"], resamples=100, draws=100))
    assert "read this first" not in text


def test_the_baseline_has_one_row_unless_its_users_differ() -> None:
    lines = printed(comparison("a", "b", "c")).splitlines()
    ndcg, hit = lines.index("end_to_end/ndcg_at_10"), lines.index("ranking/hit_at_5")
    names = [[line.split("  ")[1] for line in lines[start + 2 : start + 6]] for start in (ndcg, hit)]
    assert names[0][:3] == ["a", "b", "c"]
    assert names[1] == ["a (with b)", "a (with c)", "b", "c"]


def test_slices_make_one_table_per_run() -> None:
    lines = printed(comparison("a", "b", "c", by="history_length")).splitlines()
    start = lines.index("end_to_end/ndcg_at_10")
    assert lines[start + 1].split() == ["run", "history", "length", "users", "mean", "low", "high"]
    here = lines[start + 2 : lines.index("ranking/hit_at_5")]
    assert [line.split()[0] for line in here[:3]] == ["a", "b", "c"]
    assert sum(line.startswith("  all ") for line in here) == 2
    assert sum(line.startswith("  0 to 1 ") for line in here) == 2
    assert [line.split()[0] for line in here if "relative" in line] == ["b", "c"]


@pytest.mark.parametrize("width", [60, 100, 200])
@pytest.mark.parametrize("by", [None, "history_length"])
def test_lines_are_never_wider_than_100(width: int, by: str | None) -> None:
    found = comparison("a" * 70, "b" * 70, "c" * 30, n=20_000, by=by)
    found.table[["wins", "ties", "losses", "users"]] = 400_000
    text = printed(found, width)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert "bbb" in text


def test_a_terminal_gets_colour_and_the_same_words() -> None:
    from rich.text import Text

    found = comparison("a", "b", by="history_length")
    coloured = printed(found, force_terminal=True)
    assert "\x1b" in coloured
    assert Text.from_ansi(coloured).plain.split() == printed(found).split()


def test_names_are_not_markup() -> None:
    assert "[bold]x" in printed(comparison("a", "[bold]x"))


def test_json_is_strict_and_complete() -> None:
    found = comparison("a", "b", by="history_length", level=0.9)
    stored = json.loads(json_of(found), parse_constant=pytest.fail)
    assert (stored["baseline"], stored["runs"], stored["by"]) == ("a", ["b"], "history_length")
    assert (stored["level"], stored["resamples"], stored["draws"], stored["seed"]) == (0.9, 100, 100, 0)
    assert stored["warnings"] == found.warnings
    assert stored["notes"] == {"b/one_sided/ranking/hit_at_5": 1}
    assert len(stored["rows"]) == len(found.table)
    assert set(stored["rows"][0]) == set(found.table.columns)
    assert stored["rows"][0]["difference"] == found.table["difference"][0]
    assert type(stored["rows"][0]["wins"]) is int


def test_json_has_null_for_undefined_figures() -> None:
    runs = [Evaluation(np.arange(2), {"hit": np.zeros(2)}, name=name) for name in "ab"]
    row = json.loads(json_of(compare(*runs, resamples=10, draws=10)))["rows"][0]
    assert row["relative"] is None
    assert row["difference"] == 0


def test_all_pairs_of_several_runs_and_equivalence_are_shown() -> None:
    found = comparison("a", "b", "c", margin=5.0)
    text = printed(found)
    assert found.pairs is not None
    row = found.pairs.iloc[2]
    lines = text.splitlines()
    [pair] = [line.split() for line in lines if line.split()[:3] == ["c", "-", "b"]][:1]
    assert pair[3] == f"{row['difference']:+.4f}"
    assert "within ±5" in " ".join(text.split())
    document = json.loads(json_of(found))
    assert (document["margin"], len(document["pairs"])) == (5.0, len(found.pairs))
    assert "  pair  " not in printed(comparison("a", "b"))

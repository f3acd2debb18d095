"""An online test as text and JSON."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import recx
from recx.evaluation.ab.outcome import ABTest
from recx.report.terminal.print_ab import digits_of, json_of, print_ab, users_of


def outcome(
    names: tuple[str, str] = ("control", "new"), users: tuple[int, int] = (60, 60), chance: float = 0.2
) -> ABTest:
    rng = np.random.default_rng(0)
    rows = [
        (f"{name}{user}", name, "x", int(rng.random() < chance))
        for name, n in zip(names, users, strict=True)
        for user in range(n)
        for _ in range(4)
    ]
    log = pd.DataFrame(rows, columns=["user", "arm", "item", "clicked"]).drop(columns="item")
    return recx.ab(log, metrics=["ctr"], control=names[0], resamples=100, draws=99, mde=0.01)


def printed(found: ABTest, width: int = 100) -> str:
    out = io.StringIO()
    print_ab(Console(file=out, width=width), found)
    return out.getvalue()


def test_figures_stand_below_their_heads() -> None:
    found = outcome()
    lines = printed(found).splitlines()
    assert lines[0] == "new against control"
    head = next(at for at, line in enumerate(lines) if line.split()[:2] == ["difference", "mean"])
    assert " ".join(lines[head].split()) == "difference mean low high relative low high se delta p Holm"
    row = found.table.iloc[0]
    figures = [f"{row[name]:+.4f}" for name in ("difference", "difference_low", "difference_high")]
    assert lines[head + 1].split()[:4] == ["ctr", *figures]
    assert lines[head + 1].split()[-2:] == [f"{row['p']:.4f}", f"{row['p_holm']:.4f}"]
    assert f"  • ctr: not told apart; this test detects differences from {row['mde']:.3g} on" in lines
    assert any(line.split()[:2] == ["wanted", "0.01"] for line in lines)
    assert "Peeking: p and intervals hold for one look" in " ".join(" ".join(lines).split())


def test_a_mismatch_comes_before_every_figure() -> None:
    lines = printed(outcome(users=(100, 30))).splitlines()
    assert lines[2] == "read this first"
    assert lines[3].startswith("  • sample ratio mismatch: 100 users in control and 30 in new")
    text = " ".join(" ".join(lines).split())
    assert "sample ratio: not as intended (chi-square 37.69, p <.0001)" in text
    assert "nothing is concluded: the arms do not have the intended numbers of users" in text


def test_names_from_a_log_control_no_terminal() -> None:
    assert "\x1b[2J" not in printed(outcome(("a", "\x1b[2J")))


def test_json_has_null_for_what_does_not_exist() -> None:
    found = outcome()
    found.power.loc[0, ["users_control", "users_treatment"]] = np.inf
    assert json.loads(json_of(found))["next_test"][0]["users_control"] is None
    assert users_of(np.inf) == "never"
    assert users_of(1234.0) == "1,234"


@pytest.mark.parametrize(("error", "digits"), [(0.03, 4), (0.0003, 5), (0.00002, 6), (0.0, 4), (float("nan"), 4)])
def test_small_figures_have_more_digits(error: float, digits: int) -> None:
    assert digits_of({"se_delta": error}) == digits

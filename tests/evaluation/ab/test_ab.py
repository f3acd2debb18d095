"""Online tests: figures worked by hand, and what must not change them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import recx
from recx.core.errors import InputError

QUICK = {"resamples": 200, "draws": 199}


def made_up(seed=0, n_users=60, lift=1.5):
    """Return a log of lists of 5 items, with users who differ much."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(n_users):
        arm = "AB"[user % 2]
        chance = rng.beta(1, 5) * (lift if arm == "B" else 1.0)
        for _ in range(rng.integers(1, 6)):
            items = rng.permutation(30)[:5]
            rows.append((user, arm, items.tolist(), items[rng.random(5) < chance].tolist()))
    return pd.DataFrame(rows, columns=["user", "arm", "shown", "clicked"])


def one_row_an_item(log):
    """Return the same log with a row an item."""
    rows = [
        (row.user, row.arm, of, item, place, int(item in row.clicked))
        for of, row in enumerate(log.itertuples())
        for place, item in enumerate(row.shown, start=1)
    ]
    return pd.DataFrame(rows, columns=["user", "arm", "list", "item", "position", "clicked"])


@pytest.mark.parametrize("form", ["list", "item"])
def test_figures_worked_by_hand(logs, form):
    found = recx.ab(logs[form](), **QUICK)
    rows = found.table.set_index("metric")
    expected = {
        "hit_rate": (Fraction(2, 3), Fraction(2, 3)),
        "ctr": (Fraction(3, 9), Fraction(2, 5)),
        "mrr": ((Fraction(1, 2) + 1) / 3, (Fraction(1, 2) + 1) / 3),
    }
    for metric, (control, treatment) in expected.items():
        assert rows.loc[metric, ["control", "treatment"]].tolist() == pytest.approx([float(control), float(treatment)])
        assert rows.loc[metric, "difference"] == pytest.approx(float(treatment - control), abs=1e-15)
        assert rows.loc[metric, "relative"] == pytest.approx(float(treatment / control - 1), abs=1e-15)
    # R = 1/3, deviations ±(1 - 5/3) 2/9 = ±4/27; R = 2/5, deviations ±(1 - 4/5) 2/5 = ±2/25; n = 2 in both.
    assert rows.loc["ctr", "se_delta"] == pytest.approx(float(Fraction(4, 27) ** 2 + Fraction(2, 25) ** 2) ** 0.5)
    assert found.arms.to_dict("records") == [
        {"arm": "A", "users": 2, "lists": 3, "lists_with_click": 2, "shown": 9, "clicks": 3},
        {"arm": "B", "users": 2, "lists": 3, "lists_with_click": 2, "shown": 5, "clicks": 2},
    ]


def test_both_forms_of_a_log_give_the_same():
    log = made_up()
    one, other = recx.ab(log, **QUICK), recx.ab(one_row_an_item(log), **QUICK)
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
    pd.testing.assert_frame_equal(one.power, other.power, check_exact=True)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_neither_order_nor_names_change_a_figure(seed):
    log = one_row_an_item(made_up())
    found = recx.ab(log, **QUICK)
    rng = np.random.default_rng(seed)
    new = rng.permutation(1000)
    renamed = log.sample(frac=1, random_state=seed).assign(
        user=lambda rows: "user " + pd.Series(new[rows["user"]], index=rows.index).astype(str),
        item=lambda rows: new[rows["item"]],
        list=lambda rows: new[rows["list"]],
        arm=lambda rows: rows["arm"].map({"A": "old", "B": "new"}),
    )
    again = recx.ab(renamed, control="old", **QUICK)
    pd.testing.assert_frame_equal(found.table, again.table, check_exact=True)
    assert (again.control, again.treatment) == ("old", "new")


def test_arms_change_places():
    log = made_up()
    one, other = recx.ab(log, **QUICK).table, recx.ab(log, control="B", **QUICK).table
    np.testing.assert_allclose(one["difference"], -other["difference"])
    np.testing.assert_allclose(one["se_delta"], other["se_delta"])
    np.testing.assert_allclose(one["p"], other["p"], atol=0.12)  # 199 draws each


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas, lambda log: log])
def test_frames_of_every_library(kind):
    log = made_up()
    pd.testing.assert_frame_equal(recx.ab(kind(log), **QUICK).table, recx.ab(log, **QUICK).table)


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv", "json in csv", "piped csv"])
@pytest.mark.parametrize("form", ["list", "item"])
def test_files(tmp_path, ending, form):
    log = made_up() if form == "list" else one_row_an_item(made_up())
    expected = recx.ab(log, **QUICK).table
    path = tmp_path / f"log.{ending.split()[-1]}"
    if ending == "parquet":
        log.to_parquet(path)
    elif ending == "jsonl":
        log.to_json(path, orient="records", lines=True)
    else:
        written = log.copy()
        for column in ("shown", "clicked") if form == "list" else ():
            as_text = {"json in csv": str, "piped csv": lambda items: "|".join(map(str, items))}
            written[column] = written[column].map(as_text.get(ending, lambda items: " ".join(map(str, items))))
        written.to_csv(path, index=False)
    pd.testing.assert_frame_equal(recx.ab(path, **QUICK).table, expected)
    pd.testing.assert_frame_equal(recx.ab(str(path), **QUICK).table, expected)


def test_flags_of_clicks_are_read_as_the_items_are():
    log = made_up()
    flags = [[int(item in row.clicked) for item in row.shown] for row in log.itertuples()]
    expected = recx.ab(log, **QUICK).table
    pd.testing.assert_frame_equal(recx.ab(log.assign(clicked=flags), **QUICK).table, expected)
    pd.testing.assert_frame_equal(recx.ab(log.assign(clicked=flags), clicked_as="flags", **QUICK).table, expected)
    as_bools = [[bool(flag) for flag in row] for row in flags]
    pd.testing.assert_frame_equal(recx.ab(log.assign(clicked=as_bools), **QUICK).table, expected)


def test_other_names_and_fewer_metrics():
    log = made_up()
    renamed = log.rename(columns={"user": "uid", "arm": "variant"})
    found = recx.ab(renamed, columns={"user": "uid", "arm": "variant"}, metrics=["mrr", "ctr"], **QUICK)
    expected = recx.ab(log, **QUICK).table.set_index("metric")
    assert found.table["metric"].tolist() == ["mrr", "ctr"]
    for name in ("control", "difference_low", "se_bootstrap", "se_delta", "p"):
        np.testing.assert_allclose(found.table[name], expected.loc[["mrr", "ctr"], name])
    low, high = sorted(found.table["p"])
    assert sorted(found.table["p_holm"]) == pytest.approx([min(1.0, 2 * low), max(min(1.0, 2 * low), high)])


def test_a_large_effect_is_told_apart_and_a_mismatch_forbids_it():
    log = made_up(lift=4.0, n_users=200)
    found = recx.ab(log, **QUICK)
    assert (found.table["higher"] == "B").all()
    assert found.verdicts == ["hit_rate: B above A", "ctr: B above A", "mrr: B above A"]
    lost = log[~((log["arm"] == "A") & (log["user"] % 4 == 0))]
    halved = recx.ab(lost, **QUICK)
    assert halved.sample_ratio.mismatch
    assert (halved.table["higher"] == "").all()
    assert halved.verdicts == ["nothing is concluded: the arms do not have the intended numbers of users"]
    assert halved.warnings[0].startswith("sample ratio mismatch: 50 users in A and 100 in B, where 75.0 and 75.0")
    as_meant = recx.ab(lost, ratio="1:2", **QUICK)
    assert not as_meant.sample_ratio.mismatch
    assert as_meant.verdicts[0] == "hit_rate: B above A"


def test_what_a_control_without_a_click_has():
    log = made_up()
    log["clicked"] = [row.clicked if row.arm == "B" else [] for row in log.itertuples()]
    found = recx.ab(log, mde="5%", **QUICK)
    assert (found.table["control"] == 0).all()
    assert found.table[["relative", "relative_low", "mde_relative"]].isna().all(axis=None)
    assert (found.table["higher"] == "B").all()
    wanted = found.power[found.power["effect_of"] == "mde"]
    assert np.isinf(wanted["users_control"]).all()  # 5 % of 0


def test_a_notebook_shows_a_table_and_escapes_names():
    log = made_up().assign(arm=lambda rows: rows["arm"].map({"A": "A", "B": "<b>"}))
    shown = recx.ab(log, **QUICK)._repr_html_()
    assert "&lt;b&gt; against A" in shown
    assert '<td style="text-align:left">ctr</td>' in shown
    assert repr(recx.ab(log, **QUICK)).startswith("<ABTest of <b> against A: hit_rate: ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ratio": "half"}, "ratio=half: write the users of control and treatment that were intended, such as 1:1"),
        ({"ratio": "1:0"}, "ratio=1:0: write"),
        ({"mde": "2 percent"}, "mde=2 percent: write an effect above 0: 2% of the control's figure, or 0.002"),
        ({"mde": 0}, "mde=0.*: write an effect above 0"),
        ({"level": 1.5}, "level=1.5: it must be above 0 and below 1"),
        ({"power": 0}, "power=0: it must be above 0"),
        ({"resamples": 0}, "resamples=0: it must be 1 or more"),
        ({"both_arms": "keep"}, "both_arms=keep: "),
        ({"first_position": 2}, "first_position=2: it must be"),
        ({"metrics": ["ndcg"]}, "metrics: there is no metric 'ndcg' of an online test"),
        ({"metrics": []}, r"metrics=\[\]: give a list of names"),
        ({"control": "C"}, "there is no arm 'C' \\(control\\), but 'A', 'B'"),
        ({"control": "A", "treatment": "A"}, "control and treatment are both 'A'"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        recx.ab(made_up(), **settings)


def test_real_impressions_dealt_by_hash(shared_data):
    """Arms by a hash of the user have no difference but chance: an A/A test of 4,637 readers."""
    path = shared_data("mind-5k") / "behaviors.tsv.gz"
    raw = pd.read_csv(path, sep="\t", header=None, names=["id", "user", "time", "history", "shown"])
    pairs = raw["shown"].str.split()
    log = pd.DataFrame(
        {
            "user": raw["user"],
            "arm": np.where(raw["user"].str[1:].astype(int) * 2_654_435_761 % 2**32 < 2**31, "control", "new"),
            "shown": pairs.map(lambda row: [pair[:-2] for pair in row]),
            "clicked": pairs.map(lambda row: [int(pair[-1]) for pair in row]),
        }
    )
    found = recx.ab(log, draws=999, resamples=1000)
    assert found.arms["users"].sum() == 4_637
    assert found.arms["shown"].sum() == 189_359
    assert found.arms["clicks"].sum() == 7_542
    assert not found.sample_ratio.mismatch
    assert (found.table["higher"] == "").all()
    np.testing.assert_allclose(found.table["se_bootstrap"], found.table["se_delta"], rtol=0.1)
    # Every impression of MIND has a click.
    assert found.table.loc[0, ["metric", "control", "treatment"]].tolist() == ["hit_rate", 1.0, 1.0]
    assert found.verdicts[0] == "hit_rate: not told apart; no user differs from the others of the arm"
    assert found.power.loc[0, ["users_control", "users_treatment"]].isna().all()

"""What a sweep leaves: its console, its tables, its figures and its page."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from rich.console import Console
from visible import visible_text

from recx.core.nouns import OF_SEARCH
from recx.jobs.sweep.charts import charts_of
from recx.jobs.sweep.conclusion import Conclusion, standings_of
from recx.jobs.sweep.importance import Importance
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.output import print_sweep, write_sweep
from recx.jobs.sweep.pooled import pooled_of
from recx.jobs.sweep.variants import variants_of

OBJECTIVE = "end_to_end/ndcg_at_5"


def concluded(trials: Sequence[Trial], **more: Any) -> Conclusion:
    variants = variants_of(trials)
    baseline = next(one for one in variants if one.trials[0].number == 0)
    rows, why = standings_of(variants, OBJECTIVE, "valid", baseline, variants[0])
    settings = {
        "baseline": baseline,
        "why_baseline": "the first trial",
        "chosen": variants[0],
        "why_chosen": "the best mean",
    }
    return Conclusion(variants, f"valid/{OBJECTIVE}", True, standings=rows, untested=why, **{**settings, **more})


def test_at_most_40_settings_are_printed_and_the_spread_of_all() -> None:
    n = 42
    objectives = [0.5] * (n - 2) + [0.25, None]
    trials = [
        Trial(place, (f"ranker.l2={'x' * 40}{place}",), "", 1.25, objective, 0, "" if objective else "it broke")
        for place, objective in enumerate(objectives)
    ]
    out = io.StringIO()
    print_sweep(Console(file=out, width=100), replace(concluded(trials), untested="of no user"), Path("here"))
    lines = out.getvalue().splitlines()
    assert lines[1].split() == ["valid/end_to_end/"]
    assert lines[2].split() == ["rank", "trial", "is", "ndcg_at_5", "ranker.l2", "seconds", "cached", "reason"]
    assert lines[3].split() == ["1", "0", "baseline,", "best,", "chosen", "0.5000", "x" * 31 + "…", "1.2", "0"]
    assert lines[43] == "… 2 more"
    assert lines[44] == "41 trials: mean 0.4939, standard deviation 0.0390"
    assert lines[-2:] == ["table here/summary/sweep.csv", "page here/sweep.html"]


def trials_of(make: Any) -> list[Trial]:
    rng = np.random.default_rng(0)
    base = rng.random(50)
    values = [base, base + 0.3 + rng.normal(0, 0.1, 50), base + rng.normal(0, 0.1, 50)]
    made = [
        make(place, [f"ranker={name}", f"ranker.l2={l2}"], of)
        for place, (name, l2, of) in enumerate(
            zip(("linear", "<b>new</b>", "linear"), ("0.001", "1", "0.1"), values, strict=True)
        )
    ]
    return [*made, make(3, ["ranker=broken", "ranker.l2=1"], None)]


def test_the_files_of_a_sweep(make: Any, tmp_path: Path) -> None:
    trials = trials_of(make)
    found = concluded(trials, importances=[Importance("ranker", 0.75, 0.5, 1.0)])
    tables = write_sweep(found, trials, "sweep of ranker", "ranker=a,b", tmp_path / "mine")
    summary = tmp_path / "mine" / "summary"
    names = {"sweep.csv", "settings.csv", "sweep.json", "sweep.svg", "sweep.html"}
    assert {path.name for path in summary.iterdir()} == names
    assert (tmp_path / "mine" / "sweep.html").read_bytes() == (summary / "sweep.html").read_bytes()
    by_trial, by_setting = pd.read_csv(summary / "sweep.csv"), pd.read_csv(summary / "settings.csv")
    assert list(by_trial["trial"]) == list(by_setting["trial"]) == [1, *by_trial["trial"][1:3], 3]
    assert by_setting["is"].fillna("").tolist()[0] == "best, chosen"
    row = by_setting.set_index("trial").loc[1]
    assert row[["difference", "low", "high", "p", "p_holm"]].tolist() == [
        found.standing(found.done[0])[name] for name in ("difference", "low", "high", "p", "p_holm")
    ]
    assert list(tables) == ["trials", "settings"]
    said = json.loads((summary / "sweep.json").read_text())
    assert (said["baseline"], said["best"], said["chosen"], said["tests"]) == ("0", "1", "1", 2)
    assert said["not_told_apart_from_best"] == ["1"]
    assert said["conclusion"][0].startswith("baseline: trial 0 (ranker=linear ranker.l2=0.001), the first trial: rank")
    assert said["settings"][-1]["reason"] == "it broke"


def test_page_and_conclusion_speak_in_the_words_of_the_dataset(make: Any, tmp_path: Path) -> None:
    trials = [make(n, [f"seed={n}", "retriever=ease"], np.arange(12) % (n + 2) / 9) for n in range(3)]
    trials += [make(n, [f"seed={n - 3}", "retriever=faiss"], np.arange(12) % (n + 2) / 9) for n in range(3, 6)]
    variants = variants_of(trials)
    found = concluded(trials, nouns=OF_SEARCH, pooled={one.name: pooled_of(one.done) for one in variants})
    write_sweep(found, trials, "sweep of retriever", "retriever=ease,faiss", tmp_path / "mine")
    out = io.StringIO()
    print_sweep(Console(file=out, width=100), found, tmp_path / "mine")
    page = visible_text((tmp_path / "mine" / "sweep.html").read_text())
    assert "each query counts once" in page
    assert "fewer than 30 queries" in page
    for said in (page, out.getvalue()):
        assert not re.search(r"\b(users?|items?)\b", said, re.IGNORECASE)


def test_figures_have_bars_and_names(make: Any) -> None:
    found = concluded(trials_of(make), importances=[Importance("ranker", 0.75, 0.5, 1.0)])
    charts = charts_of(found)
    bars = "bars: 95 % interval of the difference from the baseline"
    assert [chart.title for chart in charts] == [
        f"valid/{OBJECTIVE}: difference from the baseline, with 95 % intervals",
        f"ranker; {bars}",
        f"ranker.l2; {bars}",
        "Share of the variance by setting (fANOVA); bars: range over forests",
    ]
    for chart, whiskers in zip(charts, (2, 2, 2, 1), strict=True):
        tree = ElementTree.fromstring(chart.__html__())
        assert len([path for path in tree[1].iter("path") if path.get("stroke") == "var(--ink)"]) == 3 * whiskers


def test_a_setting_of_which_each_trial_has_its_own_category_is_drawn_once(make: Any) -> None:
    rng = np.random.default_rng(0)
    trials = [
        make(place, words, rng.random(30)) for place, words in enumerate(([], ["~feature.age"], ["~feature.trend"]))
    ]
    [chart] = charts_of(concluded(trials))
    labels = re.findall(r">(without \w+)</text>", "".join(chart.drawn))
    assert sorted(labels) == ["without age", "without trend"]


def test_seeds_are_drawn_one_by_one(make: Any) -> None:
    trials = [make(seed, [f"seed={seed}"], [0.5, seed / 10]) for seed in range(3)]
    assert [chart.title for chart in charts_of(concluded(trials))] == ["every seed"]


def test_where_all_failed_there_is_a_page_without_figures(make: Any, tmp_path: Path) -> None:
    trials = [make(place, [f"a={place}"], None) for place in range(2)]
    found = Conclusion(variants_of(trials), f"valid/{OBJECTIVE}", True, untested="no trial has an objective")
    write_sweep(found, trials, "sweep of a", "a=1,2", tmp_path / "mine")
    assert not (tmp_path / "mine" / "summary" / "sweep.svg").exists()
    page = (tmp_path / "mine" / "sweep.html").read_text()
    assert "2 trials failed and are not judged" in page
    assert "nothing was tested: no trial has an objective" in page


def test_the_page_escapes_what_is_typed_and_asks_for_nothing(make: Any, tmp_path: Path) -> None:
    trials = trials_of(make)
    write_sweep(concluded(trials), trials, "sweep of a", "a=<i>", tmp_path / "mine")
    page = (tmp_path / "mine" / "sweep.html").read_text()
    assert "<b>new" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;new" in page
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "told apart from the baseline" in page

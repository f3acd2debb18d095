"""The figures of seeds, parts, windows and positions: each user once, each request once, and the mean of the runs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from recx.core.errors import InputError
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.pooled import key_of, objective_of, pooled_of
from recx.jobs.sweep.repeats import check_folds
from recx.jobs.sweep.variants import variants_of

HIT, COVERAGE = "end_to_end/hit_at_5", "end_to_end/coverage_at_5"


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Return a function that writes the files of a run with these values by user."""

    def made(number: int, override: str, values: dict[str, float], k: int | None = None, fold: str = "test") -> Trial:
        folder, prefix = tmp_path / str(number), "valid/" if fold == "valid" else ""
        folder.mkdir()
        frame = pd.DataFrame({"user": list(values), prefix + HIT: np.array(list(values.values()), dtype=np.float64)})
        frame.to_parquet(folder / "per_user.parquet")
        mean = float(frame[prefix + HIT].mean())
        figures = {prefix + HIT: mean, prefix + COVERAGE: number / 10, f"{prefix}end_to_end/users": len(values)}
        (folder / "metrics.json").write_text(json.dumps({**figures, "time/total": 1.0}))
        (folder / "protocol.json").write_text(json.dumps({"fold": fold}))
        (folder / "config.yaml").write_text(yaml.safe_dump({"fold": fold, "split": {"k": k} if k else {}}))
        return Trial(number, (override, "a=1"), str(folder), objective=mean)

    return made


def test_each_user_of_a_k_fold_counts_once(run: Any) -> None:
    trials = [run(0, "split.part=0", {"a": 1.0, "b": 0.0, "c": 0.0}, k=2), run(1, "split.part=1", {"d": 1.0}, k=2)]
    pooled = pooled_of(trials)
    assert pooled is not None
    row = pooled.row(HIT)
    assert (row["mean"], row["of_users"], row["users"], row["requests"]) == (0.5, 0.5, 4, 4)
    assert (row["of_runs"], row["part 0"], row["part 1"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3), 1.0)
    assert row["sd"] == pytest.approx(np.std([1 / 3, 1], ddof=1))
    assert (row["low"], row["high"]) == (0.0, 1.0)
    assert math.isnan(row["trend"])
    assert pooled.missing == ""
    assert objective_of(trials, HIT, "test") == 0.5
    assert pooled.table["metric"] == [HIT, COVERAGE]
    scalar = pooled.row(COVERAGE)
    assert (scalar["mean"], scalar["of_runs"], scalar["users"]) == (0.05, 0.05, 0)
    assert math.isnan(scalar["of_users"])
    assert pooled.row("end_to_end/no_such") == {}


def test_users_of_several_runs_count_once_and_requests_each(run: Any) -> None:
    trials = [
        run(0, "split.position=1", {"a": 1.0, "b": 0.0}),
        run(1, "split.position=2", {"a": 0.0, "b": math.nan, "c": 1.0}),
        run(2, "split.position=3", {"a": 0.5}),
    ]
    pooled = pooled_of(trials)
    assert pooled is not None
    row = pooled.row(HIT)
    assert (row["mean"], row["users"]) == (0.5, 3)  # a has 0.5, b 0 and c 1
    assert (row["of_requests"], row["requests"]) == (pytest.approx(2.5 / 5), 5)


def test_windows_have_a_mean_and_a_trend_in_time(run: Any) -> None:
    values, skips = [0.2, 0.3, 0.6, 0.5], [3, 2, 1, 0]
    trials = [run(n, f"split.skip={skip}", {"a": v}) for n, (skip, v) in enumerate(zip(skips, values, strict=True))]
    pooled = pooled_of(trials)
    assert pooled is not None
    row, line = pooled.row(HIT), stats.linregress(range(4), values)
    assert row["mean"] == row["of_runs"] == pytest.approx(0.4)
    assert (row["trend"], row["trend_p"]) == (pytest.approx(line.slope), pytest.approx(line.pvalue))
    assert row["trend"] > 0  # it rises with time, though it falls with split.skip
    assert objective_of(trials, HIT, "test") is None
    two = pooled_of(trials[:2])
    assert two is not None
    assert two.row(HIT)["trend"] == pytest.approx(0.1)
    assert math.isnan(two.row(HIT)["trend_p"])


def test_a_position_that_is_no_number_has_no_trend(run: Any) -> None:
    pooled = pooled_of([run(0, "split.position=1", {"a": 1.0}), run(1, "split.position=last", {"a": 0.0})])
    assert pooled is not None
    assert math.isnan(pooled.row(HIT)["trend"])


def test_parts_that_were_not_run_are_said(run: Any) -> None:
    pooled = pooled_of([run(n, f"split.part={part}", {part: 1.0}, k=5) for n, part in enumerate("024")])
    assert pooled is not None
    assert pooled.missing.startswith("2 of 5 parts (split.part=1,3) were not run")


def test_runs_of_one_seed_are_not_pooled_and_equal_heads_are_numbered(run: Any) -> None:
    first = run(0, "split.part=0", {"a": 1.0}, k=2)
    assert pooled_of([first]) is None
    assert key_of([first]) is None
    twice = [first, run(1, "split.part=1", {"b": 1.0}, k=2), run(2, "split.part=1", {"b": 0.0}, k=2)]
    pooled = pooled_of(twice)
    assert pooled is not None
    assert {"part 0", "part 1 (1)", "part 1 (2)"} <= set(pooled.table)
    assert pooled.row(HIT)["mean"] == 0.75  # b has 0.5


def test_figures_of_valid_keep_its_name(run: Any) -> None:
    trials = [run(n, f"seed={n}", {"a": float(n)}, fold="valid") for n in range(2)]
    pooled = pooled_of(trials)
    assert pooled is not None
    assert pooled.row(f"valid/{HIT}")["mean"] == 0.5


def test_a_variant_is_judged_by_the_pooled_mean(run: Any) -> None:
    def trials(first: int, values: Sequence[dict[str, float]], setting: str) -> list[Trial]:
        made = [run(first + part, f"split.part={part}", of, k=2) for part, of in enumerate(values)]
        return [Trial(**{**vars(one), "overrides": (one.overrides[0], setting)}) for one in made]

    one = trials(0, [{"a": 1.0, "b": 0.0, "c": 0.0}, {"d": 1.0}], "a=1")  # mean of the parts 0.67, of the users 0.5
    other = trials(2, [{"a": 1.0, "b": 1.0, "c": 0.0}, {"d": 0.4}], "a=2")  # 0.53 and 0.6
    found = variants_of([*one, *other], objective=HIT, fold="test")
    assert [(variant.text, variant.objective) for variant in found] == [("a=2", 0.6), ("a=1", 0.5)]
    assert [(variant.runs, variant.repeated) for variant in found] == [(2, "split.part")] * 2


def test_no_setting_is_chosen_on_the_parts_of_a_k_fold() -> None:
    check_folds(("split.part",), "test", tuning=False)
    check_folds(("split.skip",), "valid", tuning=False)
    check_folds(("split.part",), "valid", tuning=True)
    with pytest.raises(InputError, match=r"fold=valid with several values of split.part: each part is the test fold"):
        check_folds(("a", "split.part"), "valid", tuning=False)

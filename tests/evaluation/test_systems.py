"""Several systems in one table are evaluated as each would be alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx
from recx.cli.commands import evaluate as command
from recx.core.errors import InputError

RNG = np.random.default_rng(0)
TRUTH = pd.DataFrame({"user": np.arange(60), "item": RNG.integers(0, 20, 60)})
PARTS = [
    pd.DataFrame(
        {
            "Algorithm": name,
            "user": np.repeat(np.arange(60 - number), 4),
            "item": np.concatenate([RNG.permutation(20)[:4] for _ in range(60 - number)]),
            "score": np.tile([4.0, 3.0, 2.0, 1.0], 60 - number),
        }
    )
    for number, name in enumerate(("pop", "knn", "ease"))
]
LISTS = pd.concat(PARTS, ignore_index=True)
METRICS = ["hit_at_2", "ndcg_at_4"]


@pytest.mark.parametrize("form", ["frame", "csv", "parquet", "lists", "mixed rows"])
def test_each_is_what_it_is_alone(form: str, here: Path) -> None:
    given: pd.DataFrame | str = LISTS
    if form == "csv":
        LISTS.to_csv("lists.csv", index=False)
        given = "lists.csv"
    elif form == "parquet":
        LISTS.to_parquet("lists.parquet")
        given = "lists.parquet"
    elif form == "lists":
        given = LISTS.groupby(["Algorithm", "user"], sort=False).agg(list).reset_index()
    elif form == "mixed rows":
        given = LISTS.sort_values(["user", "score"], ascending=False, kind="stable")
    found = recx.evaluate_systems(given, TRUTH, METRICS, by="Algorithm")
    assert set(found) == {"pop", "knn", "ease"}
    for name, part in zip(("pop", "knn", "ease"), PARTS, strict=True):
        alone = recx.evaluate(part.drop(columns="Algorithm"), TRUTH, METRICS)
        assert found[name].means == alone.means
        assert found[name].name == name
        assert found[name].notes["users_without_list"] == 60 - part["user"].nunique()


def test_the_command_tests_the_others_against_the_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LISTS.rename(columns={"user": "uid"}).to_csv("lists.csv", index=False)
    TRUTH.to_csv("truth.csv", index=False)
    words = ["lists.csv", "truth.csv", "--by", "Algorithm", "--metrics", "hit_at_2", "--columns", "user=uid"]
    assert command.run([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["baseline"], shown["runs"]) == ("pop", ["knn", "ease"])
    assert [row["run"] for row in shown["rows"]] == ["knn", "ease"]
    found = recx.evaluate_systems("lists.csv", TRUTH, ["hit_at_2"], by="Algorithm", columns={"user": "uid"})
    expected = recx.compare(*found.values()).table
    assert [row["p_holm"] for row in shown["rows"]] == pytest.approx(expected["p_holm"].tolist())
    assert command.run(words) == 0
    assert "knn" in capsys.readouterr().out


def test_what_cannot_be_told_apart_is_refused(here: Path) -> None:
    with pytest.raises(InputError, match=r"column 'algorithm' \(by\) is missing; did you mean 'Algorithm'"):
        recx.evaluate_systems(LISTS, TRUTH, METRICS, by="algorithm")
    with pytest.raises(InputError, match="column 'Algorithm', row 1: it names no system"):
        recx.evaluate_systems(LISTS.assign(Algorithm=[None, *LISTS["Algorithm"][1:]]), TRUTH, METRICS, by="Algorithm")
    twice = pd.concat([LISTS, LISTS[:1]], ignore_index=True)
    with pytest.raises(InputError, match="Algorithm=pop: the list of user 0 shows the item"):
        recx.evaluate_systems(twice, TRUTH, METRICS, by="Algorithm")
    PARTS[0].to_csv("lists.csv", index=False)
    TRUTH.to_csv("truth.csv", index=False)
    with pytest.raises(InputError, match="--by Algorithm: all lists are of pop: leave it out"):
        command.run(["lists.csv", "truth.csv", "--by", "Algorithm"])
    with pytest.raises(InputError, match="--columns user: write ROLE=COLUMN"):
        command.run(["lists.csv", "truth.csv", "--columns", "user"])

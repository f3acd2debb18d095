"""The names that runs are known by, and the few settings that they are compared by."""

from __future__ import annotations

from typing import Any

import pytest

from recx.core.chosen import chain, data_name, params, run_name, shared

CONFIG: dict[str, Any] = {
    "name": "news",
    "fold": "valid",
    "n_candidates": 100,
    "dataset": {"_target_": "recx.parts.dataset.news.News", "path": "/data/day1"},
    "ranker": {"_target_": "recx.parts.ranker.linear.Linear", "l2": 0.1},
    "retriever": {"_target_": "recx.parts.retriever.union.Union"},
    "chosen": {
        "options": {"dataset": "news", "ranker": "linear", "retriever": "union_news", "tracker": "mlflow"},
        "settings": {
            "dataset.path": "/data/day1",
            "name": "news",
            "ranker.l2": 0.1,
            "runtime.threads": 2,
            "lists": "off",
        },
    },
}


@pytest.mark.parametrize(
    ("retriever", "ranker", "expected"),
    [
        ("recx.parts.retriever.union.Union", "recx.parts.ranker.linear.Linear", "union + linear"),
        ("recx_transformer.retriever.Transformer", "recx_lightgbm.ranker.LambdaMART", "transformer + lambdamart"),
        ("recx.parts.retriever.given.Given", "", "given"),
        ("", "", ""),
        ("odd", "recx.parts.ranker.linear.Linear", "linear"),
    ],
)
def test_a_run_without_words_is_known_by_its_parts(retriever: str, ranker: str, expected: str) -> None:
    config = {stage: {"_target_": target} for stage, target in (("retriever", retriever), ("ranker", ranker)) if target}
    assert chain(config) == expected


def test_a_run_is_known_by_the_words_that_chose_its_parts() -> None:
    assert chain(CONFIG) == "union_news + linear"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/data/day1", "day1"), ("logs/clicks.csv", "clicks.csv"), (None, "news (made up)"), (".", "news")],
)
def test_data_has_the_name_of_its_file_or_folder(path: str | None, expected: str) -> None:
    assert data_name({**CONFIG, "dataset": {**CONFIG["dataset"], "path": path}}) == expected


def test_data_has_the_names_of_its_filters() -> None:
    filters = {"repeats": {"_target_": "a.b.C"}, "k_core": {"_target_": "a.b.D"}}
    assert data_name({**CONFIG, "filter": filters}) == "day1, repeats, k_core"
    assert run_name({**CONFIG, "filter": filters}).endswith(" on day1, repeats, k_core")


def test_a_dataset_that_is_always_made_up_says_so() -> None:
    config = {**CONFIG, "dataset": {"_target_": "recx.parts.dataset.synthetic_judged.SyntheticJudged", "seed": 0}}
    assert data_name(config) == "news (made up)"  # by the word that chose it


def test_data_without_a_path_has_the_name_of_its_dataset() -> None:
    assert data_name({**CONFIG, "dataset": {"_target_": "cafe.dataset.Mine"}}) == "news"


def test_names_say_data_chain_and_what_is_varied() -> None:
    assert run_name(CONFIG) == "union_news + linear, ranker.l2=0.1 on day1"
    assert run_name(CONFIG, "ranker.l2=1 seed=3") == "ranker.l2=1 seed=3: union_news + linear on day1"
    assert run_name({}) == ""


def test_a_long_list_of_settings_is_cut() -> None:
    many = {**CONFIG["chosen"], "settings": {f"ranker.x{n}": n for n in range(9)}}
    assert run_name({**CONFIG, "chosen": many}) == (
        "union_news + linear, ranker.x0=0 ranker.x1=1 ranker.x2=2 ranker.x3=3 … on day1"
    )
    long = {**CONFIG["chosen"], "settings": {"ranker.name": "y" * 70}}
    assert run_name({**CONFIG, "chosen": long}) == "union_news + linear, … on day1"


def test_runs_are_compared_by_options_and_chosen_settings_alone() -> None:
    assert params(CONFIG) == {
        "dataset": "news",
        "ranker": "linear",
        "retriever": "union_news",
        "fold": "valid",
        "n_candidates": "100",
        "dataset.path": "/data/day1",
        "ranker.l2": "0.1",
    }


def test_the_trials_of_a_sweep_share_what_is_not_varied() -> None:
    of_all = shared(CONFIG, ["ranker", "dataset.path"])
    assert chain(of_all) == "union_news"
    assert of_all["chosen"]["options"] == {"dataset": "news", "retriever": "union_news", "tracker": "mlflow"}
    assert of_all["chosen"]["settings"] == {"name": "news", "runtime.threads": 2, "lists": "off"}
    assert params(shared(CONFIG, ["fold"])).get("fold") is None

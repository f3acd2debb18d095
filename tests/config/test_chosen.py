"""What was chosen of a composed configuration: options, and settings that differ from them or were typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recx.config.compose import compose, plain
from recx.core.errors import InputError
from recx.core.project import Project, entered

MINE = "# @package _global_\ndefaults:\n  - override /retriever: popularity\nranker:\n  l2: 0.5\nseed: 3\n"


def chosen(*overrides: str) -> dict[str, Any]:
    found = plain(compose(["+experiment=news", *overrides]))["chosen"]
    assert isinstance(found, dict)
    return found


def test_the_options_are_the_words_of_the_command_line() -> None:
    assert chosen("retriever=item_knn")["options"] == {
        "dataset": "news",
        "encoder": "tfidf",
        "engine": "local",
        "evaluator": "default",
        "experiment": "news",
        "feature": "news",
        "ranker": "linear",
        "retriever": "item_knn",
        "split": "leave_last",
        "tracker": "mlflow",
        **({"cache": "on"} if "cache" in chosen()["options"] else {}),
    }


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], {}),
        (["ranker.l2=0.1"], {"ranker.l2": 0.1}),
        (["ranker.l2=0.0001"], {"ranker.l2": 0.0001}),  # typed, though the option file says so
        (["retriever.sources.popularity.half_life=2h"], {"retriever.sources.popularity.half_life": "2h"}),
        (["seed=3"], {"seed": 3}),  # once, and not for every part that refers to it
        (["n_candidates=50"], {"n_candidates": 50}),
        (["~feature.trend", "~feature.age"], {"without": "feature.trend feature.age"}),
        (["evaluator.ranking=[mrr]"], {"evaluator.ranking": ["mrr"]}),
        (["retriever=popularity", "retriever.window=1d"], {"retriever.window": "1d"}),
    ],
)
def test_settings_that_differ_or_were_typed(overrides: list[str], expected: dict[str, Any]) -> None:
    settings = chosen(*overrides)["settings"]
    assert settings.pop("name") == "news"  # of the experiment's file
    assert settings == expected


def test_no_reranker_by_name_is_none_at_all() -> None:
    usual = plain(compose(["+experiment=news"]))
    assert plain(compose(["+experiment=news", "reranker=none"])) == usual
    assert usual["reranker"] is None
    assert chosen("reranker=popularity")["options"]["reranker"] == "popularity"


def test_several_filters_are_one_choice() -> None:
    found = chosen("filter=[repeats,k_core]", "filter.k_core.items=3")
    assert found["options"]["filter"] == "[repeats,k_core]"
    assert found["settings"] == {"name": "news", "filter.k_core.items": 3}
    assert chosen("filter=k_core")["options"]["filter"] == "k_core"
    assert "filter" not in chosen("filter=k_core", "~filter")["options"]
    assert "filter" not in chosen()["options"]
    with pytest.raises(InputError, match="k_core is in the list twice, and would be applied once"):
        chosen("filter=[k_core,repeats,k_core]")


def test_an_option_inside_another_is_known_by_its_settings() -> None:
    found = chosen("split=given", "split@split.within=by_time")
    assert found["options"]["split"] == "given"
    assert not [group for group in found["options"] if "@" in group]
    assert found["settings"]["split.within._target_"] == "recx.parts.split.by_time.ByTime"


def test_a_feature_that_was_added_is_known_by_its_settings() -> None:
    settings = chosen("+feature.old={_target_: recx.parts.feature.content.Age}")["settings"]
    assert settings["feature.old._target_"] == "recx.parts.feature.content.Age"


def test_what_an_experiment_s_file_sets_differs_from_the_option_files(tmp_path: Path) -> None:
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(MINE)
    with entered(Project.of([tmp_path / "conf"], ["+experiment=mine"], "config")):
        found = plain(compose(["+experiment=mine"]))["chosen"]
    assert found["options"]["retriever"] == "popularity"
    assert found["settings"] == {"ranker.l2": 0.5, "seed": 3}


def test_an_edited_option_file_counts_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "ranker"
    folder.mkdir(parents=True)
    for l2 in (0.5, 0.7):
        (folder / "mine.yaml").write_text(f"defaults: [linear]\nl2: {l2}\n")
        with entered(Project.of([tmp_path / "conf"], ["ranker=mine"], "config")):
            assert plain(compose(["ranker=mine"]))["chosen"]["settings"] == {}

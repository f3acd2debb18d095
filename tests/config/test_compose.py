"""Composing: numbers from the environment, and the search path of another program."""

from __future__ import annotations

from pathlib import Path

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra

from recx.config.compose import compose, plain
from recx.core.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("30", 30), ("1e-3", 0.001), ("-2", -2), ("true", True), ("null", None)),
        *(("a b", "a b"), ("x.csv", "x.csv"), ("1,2", "1,2"), ("[1]", "[1]"), ("", ""), ("2024-01-01", "2024-01-01")),
    ],
)
def test_a_number_from_the_environment_is_a_number(monkeypatch: pytest.MonkeyPatch, text: str, value: object) -> None:
    monkeypatch.setenv("MINE", text)
    settings = plain(compose(["dataset.path=${oc.env:MINE}"]))
    assert settings["dataset"]["path"] == value
    assert type(settings["dataset"]["path"]) is type(value)


def test_a_default_stands_for_a_variable_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINE", raising=False)
    settings = plain(compose(["n_candidates=${oc.env:MINE,30}", "name=run_${oc.env:MINE,7}", "seed=${n_candidates}"]))
    assert (settings["n_candidates"], settings["seed"], settings["name"]) == (30, 30, "run_7")
    with pytest.raises(InputError, match="Environment variable 'MINE' not found"):
        plain(compose(["n_candidates=${oc.env:MINE}"]))


def test_a_folder_of_the_search_path_must_exist(tmp_path: Path) -> None:
    compose([f"hydra.searchpath=[{tmp_path}]"])
    with pytest.raises(InputError, match=r"^hydra.searchpath: .*/nowhere is not available: name a folder"):
        compose([f"hydra.searchpath=[{tmp_path}/nowhere]"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "# @package _global_\ndefaults:\n- override /datset: news\n",
            "no group 'datset': did you mean 'dataset'?",
        ),
        ("# @package _global_\ndefaults:\n- override dataset: news\n", "write override /dataset: news"),
        ("# @package _global_\ndefaults:\n- dataset: news\n", "write - override /dataset: news, with the slash"),
        ("# @package _global_\ndefaults:\n- /dataset: news\n", "or in a defaults list - override /dataset: NAME"),
        (
            "# @package _global_\ndefaults:\n- /dataset: news\n- override /ranker: linear\n",
            "or in a defaults list - override /dataset: NAME",
        ),
        ("defaults:\n- override /ranker: linear\n", "first line of an experiment's file must be: # @package _global_"),
        ("# @package global\ndefaults:\n- override /ranker: linear\n", "file must be: # @package _global_"),
        ("# @package _global_\ndefaults:\n- override /sweep: ranker\n", "write /sweep: ranker, without override"),
    ],
)
def test_a_mistake_in_a_defaults_list_is_explained(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "own.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        compose([f"hydra.searchpath=[{tmp_path}]", "+experiment=own"])
    assert str(error.value).endswith(sentence)


def test_a_setting_that_only_the_option_file_lacks_is_told_from_an_unknown_one(tmp_path: Path) -> None:
    (tmp_path / "retriever").mkdir()
    (tmp_path / "retriever" / "own.yaml").write_text("_target_: recx.parts.retriever.item_knn.ItemKNN\nlast: 3\n")
    given = [f"hydra.searchpath=[{tmp_path}]", "retriever=own"]
    with pytest.raises(InputError, match=r"^retriever.shrink: the option file lacks this setting: add the line shrink"):
        compose([*given, "retriever.shrink=2"])
    assert compose([*given, "++retriever.shrink=2"]).retriever.shrink == 2
    with pytest.raises(InputError, match=r"^retriever.shrnk: retriever has no setting 'shrnk'"):
        compose([*given, "retriever.shrnk=2"])


def test_composing_inside_another_program_leaves_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("mine: 1\n")
    with hydra.initialize_config_dir(str(tmp_path)):
        assert compose(["seed=5"]).seed == 5
        theirs = hydra.compose("config")
        assert dict(theirs) == {"mine": 1}
        sources = GlobalHydra.instance().config_loader().get_search_path().get_path()
        assert not [source.provider for source in sources if source.provider.startswith("recx")]

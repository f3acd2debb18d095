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


def test_composing_inside_another_program_leaves_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("mine: 1\n")
    with hydra.initialize_config_dir(str(tmp_path)):
        assert compose(["seed=5"]).seed == 5
        theirs = hydra.compose("config")
        assert dict(theirs) == {"mine": 1}
        sources = GlobalHydra.instance().config_loader().get_search_path().get_path()
        assert not [source.provider for source in sources if source.provider.startswith("recx")]

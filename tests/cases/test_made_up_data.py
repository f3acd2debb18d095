"""Made-up data says so wherever figures are shown, and stays the same when the seed of the run changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recx
from recx.core.chosen import run_name
from recx.experiment import protocol_card
from recx.experiment.build import experiment
from recx.experiment.saved_runs import last
from recx.testing import config_of

SMALL = {
    "news": ["+experiment=news", "dataset.readers=60", "dataset.articles=40"],
    "rerank": ["+experiment=rerank", "dataset.queries=40"],
    "documents": ["+experiment=rerank", "dataset=synthetic_judged", "dataset.queries=40"],
    "tools": ["+experiment=tools", "dataset.tasks=60", "dataset.tools=12"],
    "agents": ["+experiment=agents", "dataset.traces=20"],
}


@pytest.mark.parametrize("words", SMALL.values(), ids=SMALL.keys())
def test_the_world_stays_when_the_seed_of_the_run_changes(words: list[str]) -> None:
    worlds = [experiment(config_of(*words, f"seed={seed}")).dataset.load() for seed in (0, 3)]
    assert protocol_card.data_hash(worlds[0]) == protocol_card.data_hash(worlds[1])
    other = experiment(config_of(*words, "dataset.seed=3")).dataset.load()
    assert protocol_card.data_hash(worlds[0]) != protocol_card.data_hash(other)
    assert worlds[0].notes["made_up_data"] == 1


@pytest.mark.parametrize("words", SMALL.values(), ids=SMALL.keys())
def test_the_name_of_a_run_says_made_up(words: list[str]) -> None:
    assert " (made up)" in run_name(config_of(*words))
    assert "made up" not in run_name(config_of("+experiment=news", "dataset.path=day1"))


def test_console_card_page_and_tags_say_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    recx.run([*SMALL["rerank"], "tracker=console", "evaluator.end_to_end=[hit_at_10]"])
    assert "the data is made up, so the figures show that the chain works" in " ".join(capsys.readouterr().out.split())
    folder = last(Path("outputs"))
    card = json.loads((folder / "protocol.json").read_text())
    assert card["made_up"].startswith("the data is made up")
    assert protocol_card.tags(card)["recx.made_up"] == card["made_up"]
    assert "the data is made up, so the figures" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_sweep_over_seeds_keeps_the_data() -> None:
    config = config_of("+experiment=tools", "+sweep=seeds", "seed=4")
    assert (config["seed"], config["dataset"]["seed"], config["split"]["seed"]) == (4, 0, 4)

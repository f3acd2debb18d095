"""What the users and items of saved runs are called."""

from __future__ import annotations

import pytest

from recx.core.nouns import OF_NEWS, Nouns
from recx.experiment.saved_nouns import nouns_of_configs

NEWS, MIND, TABLE = ("recx.parts.dataset.news.News", "recx.parts.dataset.mind.Mind", "recx.parts.dataset.table.Table")


@pytest.mark.parametrize(
    ("targets", "nouns"),
    [
        ([NEWS], OF_NEWS),
        ([NEWS, MIND], OF_NEWS),
        ([TABLE], Nouns()),
        ([NEWS, TABLE], Nouns()),
        (["recx_not_installed.Data"], Nouns()),
        ([], Nouns()),
    ],
)
def test_runs_that_agree_are_told_of_in_the_words_of_their_dataset(targets: list[str], nouns: Nouns) -> None:
    assert nouns_of_configs({"dataset": {"_target_": target}} for target in targets) == nouns


@pytest.mark.parametrize("config", [{}, {"dataset": None}, {"dataset": {}}, {"dataset": "news"}])
def test_a_run_that_names_no_dataset_has_users_and_items(config: dict[str, object]) -> None:
    assert nouns_of_configs([config]) == Nouns()

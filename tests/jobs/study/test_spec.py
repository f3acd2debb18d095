from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from recx.core.errors import InputError
from recx.jobs.study.spec import Chain, StudySpec, Tuning, content_of, file_of, spec_of

CONTENT: dict[str, Any] = {
    "metrics": ["ndcg_at_10", "retrieval/recall_at_20"],
    "baseline": "popularity",
    "seeds": [0, 1],
    "chains": {"popularity": ["retriever=popularity"], "ease": {"overrides": ["retriever=ease"]}},
    "worlds": {"films": ["+experiment=movielens"]},
}
FILE = Path("own.yaml")


def of(**changes: Any) -> StudySpec:
    return spec_of({**CONTENT, **changes}, FILE)


def test_a_file_of_all_keys_is_read() -> None:
    tuned = {"overrides": ["retriever=ease"], "tune": ["retriever.l2=1,10"]}

    found = of(chains={"popularity": [], "ease": tuned}, tuning={"trials": 2}, average=True)

    assert found.name == "own"
    assert found.metrics == ("end_to_end/ndcg_at_10", "retrieval/recall_at_20")
    assert found.seeds == (0, 1)
    assert found.chains == {"popularity": Chain(()), "ease": Chain(("retriever=ease",), ("retriever.l2=1,10",))}
    assert found.worlds == {"films": ("+experiment=movielens",)}
    assert (found.baseline, found.tuning, found.average) == ("popularity", Tuning(2, 0), True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": ["x"]}, "own.yaml: metric: a study has no such key: did you mean 'metrics'?"),
        ({"metrics": []}, "own.yaml: metrics is missing or empty"),
        ({"metrics": ["HR@10"]}, "own.yaml: metrics: HR@10: it is called hit_at_10 here"),
        ({"metrics": ["end/ndcg_at_10"]}, "own.yaml: metrics: end/ndcg_at_10: choose one of: end_to_end"),
        ({"metrics": ["ndcg_at_10", "end_to_end/ndcg_at_10"]}, "end_to_end/ndcg_at_10 is in the list twice"),
        ({"seeds": [0, 0]}, "own.yaml: seeds: 0 is in the list twice"),
        ({"seeds": 3}, "own.yaml: seeds=3: it must be a list"),
        ({"seeds": [-1]}, "own.yaml: seeds.0=-1: it must be"),
        ({"baseline": "popularty"}, "own.yaml: baseline: popularty: no chain has that name: did you mean"),
        ({"chains": {"a/b": []}}, "own.yaml: chains: a/b: it names a folder"),
        ({"chains": {"..": []}}, "own.yaml: chains: ..: it names a folder"),
        ({"chains": ["ease"]}, "own.yaml: chains: write NAME: [OVERRIDE, ...]"),
        ({"chains": {"ease": {"tun": []}}}, "own.yaml: chains.ease.tun: a chain has no such key: did you mean 'tune'?"),
        ({"chains": {"ease": {"tune": ["retriever.l2"]}}}, "own.yaml: chains.ease.tune: retriever.l2: write KEY="),
        ({"chains": {"ease": "retriever=ease"}}, "own.yaml: chains.ease=retriever=ease: it must be a list"),
        ({"worlds": {"films": ["seed=3"]}}, "own.yaml: worlds.films: seed=3: a study sets seed itself"),
        ({"worlds": {"films": ["evaluator.ranking=[mrr]"]}}, "a study sets evaluator.ranking itself"),
        ({"worlds": {"films": [{"a": 1}]}}, "own.yaml: worlds.films.0"),
        ({"tuning": {"trial": 2}}, "own.yaml: tuning.trial: there is no such key: did you mean 'trials'?"),
        ({"tuning": 3}, "own.yaml: tuning=3: write for example"),
        ({"tuning": {"trials": -1}}, "own.yaml: tuning.trials=-1: it must be 0 or more"),
        ({"tuning": {"trials": 3}}, "own.yaml: tuning.trials: no chain has settings to tune"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        of(**changes)

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_tunes_is_maximized_over_the_same_users() -> None:
    tuned = {"popularity": [], "ease": {"overrides": [], "tune": ["retriever.l2=1,10"]}}

    with pytest.raises(InputError, match="lower values are better"):
        of(metrics=["end_to_end/logloss"], chains=tuned, tuning={"trials": 2})
    with pytest.raises(InputError, match="mean over the users whose target was retrieved"):
        of(metrics=["ranking/ndcg_at_10"], chains=tuned, tuning={"trials": 2})
    assert of(metrics=["ranking/ndcg_at_10"], chains=tuned).tuning.trials == 0


def test_a_study_is_found_by_its_name_or_its_path(here: Path) -> None:
    (here / "own.yaml").write_text(yaml.safe_dump(CONTENT), encoding="utf-8")

    assert content_of(file_of("own.yaml")) == CONTENT
    with pytest.raises(InputError, match=r"other\.yaml: there is no such file"):
        file_of("other.yaml")
    with pytest.raises(InputError, match="own: there is no study of that name"):
        file_of("own")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics: [\n", "own.yaml, line 2: this is not YAML"),
        ("- a\n", "own.yaml: a study is a mapping of keys"),
        ("seeds: [0]\nchains:\n  a: []\n  a: [x]\n", "own.yaml, line 4: the key a is there twice"),
        ("seeds: !!python/object:os.system [0]\n", "own.yaml, line 1: this is not YAML"),
    ],
)
def test_a_file_that_is_no_mapping_of_keys_is_refused(text: str, message: str, here: Path) -> None:
    (here / "own.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(InputError) as raised:
        content_of(Path("own.yaml"))
    assert message in str(raised.value)

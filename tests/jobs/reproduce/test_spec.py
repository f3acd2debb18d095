from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from recx.config import option_sources
from recx.core.errors import InputError
from recx.experiment import build
from recx.jobs.reproduce import spec
from recx.jobs.reproduce.verdict import rows_of
from recx.jobs.study import strangers
from recx.jobs.study.plan import Local, merged

OURS = sorted(file.stem for file in (Path(__file__).resolve().parents[3] / "conf" / "reproduction").glob("*.yaml"))
PLUGINS = {
    "ranker=lambdamart": "recx_lightgbm",
    "retriever=lightgcn": "recx_graph",
    "retriever=transformer": "recx_transformer",
}
AT_HAND = (
    "beauty",
    "beauty_transformer",
    "lightgbm_example",
    "metatool",
    "mind_5k",
    "ml_100k",
    "mq2008",
    "recbole_quick_start",
    "trec_eval",
)
"""Reproductions whose data was at hand."""


def test_every_file_is_listed() -> None:
    assert set(OURS) <= set(spec.names())
    assert set(AT_HAND) < set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_every_file_says_what_it_must(name: str) -> None:
    found = spec.load(name)
    text = found.file.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert max(map(len, text.splitlines())) <= 132
    assert "http" in found.paper
    assert "http" in found.data.where
    assert found.notes
    for entry in found.expected:
        assert entry.source
        assert entry.chain or entry.model or found.lists
        assert all(0 <= value <= 1 for value in entry.figures.values())
    if found.study is not None:
        strangers.check(found.study)


@pytest.mark.parametrize("name", [name for name in OURS if name not in AT_HAND])
def test_what_was_not_at_hand_has_no_hash_no_measured_figure_and_no_verdict(name: str) -> None:
    found = spec.load(name)
    assert set(found.data.files.values()) == {None}
    assert not any(entry.measured for entry in found.expected)
    assert {row.verdict for row in rows_of(found)} == {""}


@pytest.mark.parametrize("name", AT_HAND)
def test_what_was_at_hand_has_hashes(name: str) -> None:
    assert None not in spec.load(name).data.files.values()


@pytest.mark.parametrize("name", [name for name in OURS if spec.load(name).study is not None])
@pytest.mark.parametrize("which", ["first", pytest.param("others", marks=pytest.mark.slow)])
def test_every_chain_of_every_file_composes_and_builds(
    name: str, which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(option_sources, "entry_points", entry_points)  # other tests see no installed plugin
    study = spec.load(name).study
    assert study is not None
    first, *others = study.worlds.values()
    pairs = [(first, chain.overrides) for chain in study.chains.values()]
    pairs += [(world, next(iter(study.chains.values())).overrides) for world in others]
    for world, chain in pairs[:1] if which == "first" else pairs[1:]:
        words = merged(world, chain)
        for plugin in {PLUGINS[word] for word in words if word in PLUGINS}:
            pytest.importorskip(plugin)
        build.plan(Local(tmp_path).composed(words))


def entry(**keys: Any) -> dict[str, Any]:
    """Return the first expected entry with some keys replaced."""
    known = {"chain": "kept", "world": "four", "origin": "paper", "source": "by hand", "tolerance": 0.001}
    return {"expected": [{**known, "figures": {"hit_at_1": 0.0}, **keys}]}


def data(**keys: Any) -> dict[str, Any]:
    return {"data": {"where": "https://example.org/four.txt", "files": {"four.txt": None}, **keys}}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"paper": None}, "paper=null: it must be text", id="no paper"),
        pytest.param({"title": " "}, "title is empty", id="an empty title"),
        pytest.param({"expected": []}, "expected: it is empty", id="nothing expected"),
        pytest.param({"tolerance": 1}, "a reproduction has no such key", id="an unknown key"),
        pytest.param({"worlds": None}, "worlds is missing", id="no worlds"),
        pytest.param(
            {"lists": {"a": {"run": "a", "grades": "b"}}}, "either lists, or the chains", id="lists and chains"
        ),
        pytest.param(entry(chain="eased"), "chain 'eased' is none of its own", id="an unknown chain"),
        pytest.param(entry(world="fours"), "did you mean 'four'", id="an unknown world"),
        pytest.param(entry(source=""), "figures and their source", id="no source"),
        pytest.param(entry(origin="hearsay"), "origin=hearsay", id="an unknown origin"),
        pytest.param(entry(tolerance=-1), "0 or more", id="a negative tolerance"),
        pytest.param(entry(figures={"hit_at_1": float("nan")}), "must be a number", id="a figure that is none"),
        pytest.param(entry(figures={"mrr": 0.1}), "end_to_end/mrr is expected and not among them", id="not a metric"),
        pytest.param(entry(measured={"mrr": 0.1}), "nothing is expected of it", id="measured and not expected"),
        pytest.param(entry(measured={"hit_at_1": None}), "must be a number", id="measured by nobody"),
        pytest.param(entry(model="LightGCN"), "neither chain nor measured", id="a model and a chain"),
        pytest.param(entry(kind="paper"), "expected.kind: there is no such key", id="an unknown key of an entry"),
        pytest.param(data(files={"four.txt": "abc"}), "64 hexadecimal digits", id="a hash that is none"),
        pytest.param(data(counts={"four": {"clicks": 3}}), "data.counts.four.clicks", id="an unknown count"),
        pytest.param(data(counts={"five": {"users": 3}}), "world 'five' is none of its own", id="counts of no world"),
        pytest.param({"data": {"where": "x"}}, "files", id="no files"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_sentence(write: Callable[..., str], keys: dict[str, Any], message: str) -> None:
    file = write(**keys)
    with pytest.raises(InputError) as error:
        spec.load(file)
    assert message in str(error.value)
    assert str(error.value).startswith(file)
    assert "\n" not in str(error.value)


def test_an_unknown_name_is_answered_with_the_near_one() -> None:
    with pytest.raises(InputError, match="did you mean 'gowalla'"):
        spec.load("gowala")


def test_names_of_figures_get_their_stage(write: Callable[..., str]) -> None:
    assert list(spec.load(write()).expected[0].figures) == ["end_to_end/hit_at_1"]

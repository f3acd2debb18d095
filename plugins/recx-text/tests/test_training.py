"""A cross-encoder that is trained ranks better, keeps its contract, goes on where it was stopped, and is kept whole."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recx_text.ranker import CrossEncoder, FittedCrossEncoder

from recx.plugin import Examples, Fold, InputError, Interactions, RankedLists, Requests
from recx.testing import check_ranker, check_training, last_out, some_candidates

NDCG = "cross_encoder/valid_ndcg_at_10"


@pytest.fixture(scope="module")
def now(matching: Interactions) -> Fold:
    return last_out(matching)


@pytest.fixture(scope="module")
def past(now: Fold) -> Fold:
    return last_out(now.history)


def ranker_of(folder: Path, **settings: Any) -> CrossEncoder:
    small = {"epochs": 3, "batch_size": 40, "negatives": 4, "learning_rate": 0.01, "patience": 9}
    return CrossEncoder(str(folder), device="cpu", **{**small, **settings})


def fitted(ranker: CrossEncoder, past: Fold) -> FittedCrossEncoder:
    return ranker.fit(some_candidates(past), past)


def quality(ranker: CrossEncoder | FittedCrossEncoder, now: Fold) -> float:
    """Return ndcg_at_10 on the present fold."""
    examples = Examples.of(some_candidates(now), now)
    return examples.ndcg(ranker.rank(examples.lists, now.history, now.requests))


@pytest.mark.parametrize("loss", ["listwise", "pairwise"])
def test_training_makes_the_lists_far_better(pairs: Path, past: Fold, now: Fold, loss: str) -> None:
    ranker = ranker_of(pairs, loss=loss, epochs=12)
    found = fitted(ranker, past)
    assert quality(found, now) > quality(ranker, now) + 0.2
    losses = found.summary.curves["cross_encoder/loss"]
    assert losses[-1] < 0.8 * losses[0]
    curve = found.summary.curves[NDCG]
    assert found.summary.notes["cross_encoder_epochs"] == int(np.argmax(curve)) + 1
    assert found.summary.notes["cross_encoder_validation_users"] == 15


def test_it_fulfils_the_contract_of_a_ranker(pairs: Path, matching: Interactions) -> None:
    check_ranker(ranker_of(pairs, epochs=2, top=5, refit_all=True), matching)


def test_the_validation_is_on_users_whom_it_has_not_learnt_from(pairs: Path, past: Fold) -> None:
    found = fitted(ranker_of(pairs, epochs=1), past)
    learnt, apart = Examples.of(some_candidates(past), past).set_apart(0.1, 0)
    assert found.summary.notes["ranker_users_fitted_on"] == len(learnt)
    assert found.summary.curves[NDCG] == [apart.ndcg(found.rank(apart.lists, past.history, apart.requests))]
    whole = fitted(ranker_of(pairs, epochs=1, validation_users=0), past)
    assert whole.summary.notes["ranker_users_fitted_on"] == len(learnt) + len(apart)
    assert NDCG not in whole.summary.curves


def test_it_fulfils_the_contract_of_a_part_that_trains(pairs: Path, matching: Interactions) -> None:
    check_training(ranker_of(pairs, epochs=2, max_users=30, top=5), matching)


def test_the_result_of_a_training_is_the_weights_alone(pairs: Path, past: Fold, tmp_path: Path) -> None:
    found = fitted(ranker_of(pairs, epochs=1, checkpoints=str(tmp_path)), past)
    [done] = tmp_path.iterdir()
    with np.load(done) as arrays:
        assert set(arrays.files) == {"recx", *found.network.model.state_dict()}


def test_what_was_trained_needs_no_other_files(
    pairs: Path, past: Fold, now: Fold, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base"
    shutil.copytree(pairs, base)
    found = fitted(ranker_of(base, epochs=1, max_length=4), past)
    shutil.rmtree(base)
    (tmp_path / "kept").mkdir()
    capfd.readouterr()
    found.network.save(tmp_path / "kept")
    assert not "".join(capfd.readouterr())
    names = {file.name for file in (tmp_path / "kept").rglob("*") if file.is_file()}
    assert "model.safetensors" in names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pkl", ".py"))]
    again = replace(found, network=type(found.network).load(tmp_path / "kept"))
    lists = some_candidates(now)
    one, other = (part.rank(lists, now.history, now.requests) for part in (found, again))
    assert np.array_equal(one.score, other.score)
    (tmp_path / "kept" / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match=r"ranker\.model: the files in .* cannot be loaded"):
        type(found.network).load(tmp_path / "kept")


def test_a_sentence_model_gets_a_new_output(sentences: Path, past: Fold) -> None:
    few = past.requests.user[:6]
    lists = some_candidates(past).take(np.arange(30, 36))
    rankers = [
        ranker_of(sentences, epochs=1, max_users=4, max_length=8, frozen_layers=5, validation_users=0, seed=seed)
        for seed in (0, 0, 1)
    ]
    scores = []
    for ranker in rankers:
        found = ranker.fit(lists, past)
        assert found.summary.notes["cross_encoder_new_output"] == 1
        scores.append(found.rank(lists, past.history, Requests(few, None)).score)
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_a_model_with_several_outputs_is_not_trained(triples: Path, past: Fold) -> None:
    with pytest.raises(InputError, match="is not a reranker"):
        fitted(ranker_of(triples), past)


def test_lists_of_targets_alone_teach_nothing(pairs: Path, past: Fold) -> None:
    assert past.target is not None
    user, n = past.requests.user, len(past.requests)
    one = np.arange(n + 1, dtype=np.int64)
    alone = RankedLists(user, one, past.target.item[past.target.indptr[user]], np.zeros(n, dtype=np.float32))
    with pytest.raises(InputError, match=r"all candidates are targets of the same grade; .* ranker\.epochs=0"):
        ranker_of(pairs).fit(alone, past)


def test_without_epochs_it_is_not_trained(pairs: Path) -> None:
    assert ranker_of(pairs).trains
    assert ranker_of(pairs).sample == (10_000, 0)
    assert not CrossEncoder(str(pairs)).trains
    assert CrossEncoder(str(pairs)).sample is None
    assert ranker_of(pairs).cacheable
    assert not ranker_of(pairs, time_limit="5m").cacheable


def test_resuming_needs_a_folder(pairs: Path, past: Fold) -> None:
    with pytest.raises(InputError, match=r"ranker\.resume=true: it must be false without ranker\.checkpoints"):
        fitted(ranker_of(pairs, resume=True), past)

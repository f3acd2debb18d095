"""The retriever's contract, what it can learn, and the files that it writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recx_transformer.circle import circle, small
from recx_transformer.learner import Learner
from recx_transformer.model import Network
from recx_transformer.retriever import Transformer

import recx
from recx.plugin import Entities, InputError, Interactions, RecxError, Requests, SeenEvents
from recx.testing import check_retriever, everyone_asks, last_out, tiny_world

QUICK: dict[str, Any] = {"factors": 16, "epochs": 2, "validation_users": 5, "batch_size": 128, "max_length": 6}


@pytest.mark.parametrize("world", [{}, {"times": False}, {"embeddings": False}], ids=str)
@pytest.mark.parametrize("settings", [{}, {"seen": "keep", "recent": (), "loss": "sampled_softmax"}], ids=str)
def test_it_fulfils_the_contract_of_a_retriever(world: dict[str, Any], settings: dict[str, Any]) -> None:
    check_retriever(Transformer(**{**QUICK, **settings}), tiny_world(**world))


def test_it_does_so_without_refit_and_with_learned_places() -> None:
    check_retriever(Transformer(**QUICK, refit_all=False, positions="learned", validation="users"))


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "full_softmax"},
        {"loss": "sampled_softmax"},
        {"loss": "sampled_softmax", "sampling": "in_batch"},
        {"loss": "sampled_softmax", "sampling": "popularity", "logq": False},
        {"loss": "bce"},
        {"loss": "gbce", "negatives": 4, "batch_size": 128, "validation_users": 0},
    ],
    ids=str,
)
def test_a_circle_is_learned(settings: dict[str, Any]) -> None:
    world = circle()
    fitted = small(**settings, seen="keep", epochs=20).fit(world)
    lists = fitted.retrieve(world, Requests(np.arange(world.n_users, dtype=np.int32)), 1)
    following = (world.item[world.indptr[1:] - 1] + 1) % world.n_items
    assert (lists.item == following).mean() > 0.95


def test_the_curves_have_one_value_per_epoch() -> None:
    fitted = small(epochs=4, patience=4).fit(circle(60, 8))
    curves = fitted.summary.curves
    assert len(curves["transformer/loss"]) == len(curves["transformer/valid_ndcg_at_10"]) == 4
    assert len(curves["transformer/refit_loss"]) == fitted.summary.notes["transformer_epochs"]
    assert curves["transformer/loss"][-1] < curves["transformer/loss"][0]
    assert fitted.summary.notes["transformer_validation_users"] == 50


def test_the_random_state_of_others_is_left_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    small(epochs=1).fit(circle(20, 5))
    assert torch.equal(torch.get_rng_state(), before)


def test_another_seed_makes_another_network() -> None:
    one, other = (small(epochs=1, seed=seed).fit(circle(20, 5)).network.own for seed in (0, 1))
    assert not torch.equal(one, other)


def test_a_longer_history_asks_without_a_new_fit() -> None:
    world = circle(events=8)
    fitted = small(seen="keep", epochs=15).fit(last_out(world).history)
    lists = fitted.retrieve(world, Requests(np.arange(world.n_users, dtype=np.int32)), 1)
    assert (lists.item == (world.item[world.indptr[1:] - 1] + 1) % world.n_items).mean() > 0.9


def content_world(n_items: int) -> Interactions:
    """Return a circle of categories: users go from any article of one category to any of the next."""
    rng = np.random.default_rng(0)
    category = np.arange(n_items) % 4
    walk = (rng.integers(0, 4, 300)[:, None] + np.arange(6)) % 4
    item = (walk + 4 * rng.integers(0, 5, walk.shape)).astype(np.int32).ravel()  # of the first twenty
    return Interactions(
        np.arange(301) * 6,
        item,
        None,
        np.ones(len(item), dtype=np.float32),
        Entities(np.arange(300)),
        Entities(np.arange(n_items), {"category": category.astype(np.int32)}, np.eye(4, dtype=np.float32)[category]),
    )


@pytest.mark.parametrize("content", ["embedding", "category"])
def test_items_that_nobody_clicked_are_reached_through_their_content(content: str) -> None:
    world = content_world(24)  # the last four were never clicked
    settings: dict[str, Any] = {"embedding": content == "embedding", "category": content == "category", "seen": "keep"}
    fitted = small(epochs=20, id_dropout=0.5, **settings).fit(world)
    lists = fitted.retrieve(world, Requests(np.arange(300, dtype=np.int32)), 6)
    fresh = lists.item >= 20
    assert fresh.sum() > 150
    following = (world.item[world.indptr[1:] - 1] + 1) % 4
    assert (lists.item[fresh] % 4 == following[lists.list_of_row[fresh]]).mean() > 0.95
    assert lists.notes["items_out_of_reach"] == 0


def test_without_content_they_are_out_of_reach_and_counted() -> None:
    world = content_world(24)
    lists = (
        small(epochs=1, embedding=False, category=False)
        .fit(world)
        .retrieve(world, Requests(np.arange(9, dtype=np.int32)), 24)
    )
    assert lists.item.max() < 20
    assert lists.notes["items_out_of_reach"] == 4


def test_a_user_without_events_gets_what_was_clicked_last_or_nothing() -> None:
    history, requests = everyone_asks(tiny_world())
    nobody = np.flatnonzero(history.lengths[requests.user] == 0)
    assert len(nobody)
    assert (Transformer(**QUICK).fit(history).retrieve(history, requests, 5).lengths[nobody] > 0).all()
    plain = Transformer(**QUICK, recent=()).fit(history).retrieve(history, requests, 5)
    assert (plain.lengths[nobody] == 0).all()
    assert plain.notes["requests_without_history"] == len(nobody)


def test_a_network_comes_back_as_it_was(tmp_path: Path) -> None:
    network = small(epochs=1).fit(circle(20, 5)).network
    network.save(tmp_path)
    again = Network.load(tmp_path)
    assert again.shape == network.shape
    for name, tensor in network.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


@pytest.mark.parametrize(
    "shape",
    [{"items": 10**12}, {"width": 64}, {"blocks": 10**12}, {"heads": 0}, {"heads": 7}, {"items": "x"}, {"more": 1}],
    ids=str,
)
def test_a_network_of_another_shape_than_its_weights_is_damaged(tmp_path: Path, shape: dict[str, Any]) -> None:
    small(epochs=1).fit(circle(20, 5)).network.save(tmp_path)
    file = tmp_path / "shape.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **shape}))
    with pytest.raises(InputError, match="contains a network that cannot be read"):
        Network.load(tmp_path)


def test_a_fitted_part_has_a_network_of_its_own_items() -> None:
    fitted = small(epochs=1).fit(circle(20, 5))
    with pytest.raises(ValueError, match="for a network of"):
        replace(fitted, catalogue=replace(fitted.catalogue, ids=fitted.catalogue.ids[1:]))


def test_a_fitted_network_serves_a_catalogue_in_another_order() -> None:
    world = circle(60, 8)
    fitted = small(seen="keep", epochs=15).fit(world)
    turned = replace(
        world, item=(world.n_items - 1 - world.item).astype(np.int32), items=Entities(world.items.ids[::-1].copy())
    )
    requests = Requests(np.arange(60, dtype=np.int32))
    one, other = fitted.retrieve(world, requests, 3), fitted.retrieve(turned, requests, 3)
    assert np.array_equal(world.items.ids[one.item], turned.items.ids[other.item])


NEWS = [
    *("+experiment=news", "dataset.readers=60", "dataset.articles=40", "tracker=console", "cache=off"),
    *("ranker=identity", "retriever=transformer", "retriever.factors=16", "retriever.epochs=1"),
    *("retriever.validation_users=0", "retriever.recent=[]"),
]


def test_a_run_s_network_is_used_without_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = recx.run([*NEWS, "hydra.run.dir=outputs/a/b"])
    monkeypatch.setattr(Learner, "step", None)
    history, requests = made.split.fold.history, made.split.fold.requests
    loading = Transformer(from_run="outputs/a/b", seen="keep")
    assert loading.loaded == {"from": "outputs/a/b/model", "seen": SeenEvents.of(history).statement()}
    fitted = loading.fit(history)
    assert fitted.settings.seen == "keep"
    assert fitted.settings.factors == 16
    lists = Transformer(from_run="outputs/a/b").fit(history).retrieve(history, requests, 100)
    assert np.array_equal(lists.item, made.candidates.item)
    assert np.array_equal(lists.score, made.candidates.score)
    (tmp_path / "outputs/a/b/model/model.json").unlink()
    with pytest.raises(InputError, match="holds no model"):
        Transformer(from_run="outputs/a/b").fit(history)
    recx.run([*NEWS[:6], "retriever=popularity", "hydra.run.dir=outputs/a/c"])
    with pytest.raises(InputError, match="contains no network of retriever=transformer"):
        Transformer(from_run="outputs/a/c").fit(history)


def test_other_content_than_at_the_fit_is_refused() -> None:
    history, requests = everyone_asks(tiny_world())
    fitted = Transformer(**QUICK).fit(history)
    table = {**history.items.table, "category": (history.items.table["category"] + 1).astype(np.int32)}
    with pytest.raises(InputError, match="categories are not numbered as"):
        fitted.retrieve(replace(history, items=replace(history.items, table=table)), requests, 5)
    longer = np.ones((history.n_items, 7), dtype=np.float32)
    with pytest.raises(InputError, match="length 7, but 6"):
        fitted.retrieve(replace(history, items=replace(history.items, embedding=longer)), requests, 5)
    with pytest.raises(InputError, match="ids of one type"):
        fitted.retrieve(replace(history, items=replace(history.items, ids=history.items.ids.astype(str))), requests, 5)


def test_a_loss_that_is_no_number_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "_loss", lambda self, batch: self.network.own.sum() * float("nan"))
    with pytest.raises(RecxError, match=r"became nan in epoch 1: lower retriever.learning_rate"):
        small().fit(circle(20, 5))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"heads": 3}, "retriever.factors=128: it must be a multiple of retriever.heads=3"),
        ({"dropout": 1.0}, "retriever.dropout=1.0: it must be 0 or more and below 1"),
        ({"loss": "hinge"}, "retriever.loss=hinge: choose one of: bce, full_softmax, gbce, sampled_softmax"),
        (
            {"sampling": "popularity"},
            "retriever.sampling=popularity: it counts only with retriever.loss=sampled_softmax",
        ),
        ({"loss": "gbce", "logq": False}, "retriever.logq=false: it counts only with retriever.loss=sampled_softmax"),
        ({"gbce_t": 0.5}, "retriever.gbce_t=0.5: it counts only with retriever.loss=gbce: choose that, or leave"),
        (
            {"popularity_power": 1.0},
            "retriever.popularity_power=1.0: it counts only with retriever.sampling=popularity",
        ),
        ({"loss": "gbce", "gbce_t": 1.5}, "retriever.gbce_t=1.5: it must be "),
        ({"recent": ("1x",)}, "retriever.recent.0=1x: it must be a positive number and a unit"),
        ({"learning_rate": float("nan")}, "retriever.learning_rate=nan: it must be a number"),
        ({"epochs": 0}, "retriever.epochs=0: it must be 1 or more"),
    ],
)
def test_wrong_settings_are_reported_by_their_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        Transformer(**settings)
    assert str(error.value).startswith(said)


def test_a_device_that_is_not_there_is_reported() -> None:
    missing = "cuda" if not torch.cuda.is_available() else "mps"
    with pytest.raises(InputError, match=f"retriever.device={missing}"):
        Transformer(device=missing).fit(circle(20, 5))


def test_the_network_of_a_union_is_found_where_it_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = "{_target_:recx_transformer.retriever.Transformer,factors:16,epochs:1,validation_users:0,recent:[]}"
    union = [*NEWS[:6], "retriever=union", "~retriever.sources", f"+retriever.sources.network={one}"]
    knn = "+retriever.sources.knn={_target_:recx.parts.retriever.item_knn.ItemKNN}"
    made = recx.run([*union, knn, "hydra.run.dir=outputs/a/b"])
    assert "network/loss" in made.curves
    history = made.split.fold.history
    assert Transformer(from_run="outputs/a/b").fit(history).settings.factors == 16
    recx.run([*union, f"+retriever.sources.other={one.replace('16', '8')}", "hydra.run.dir=outputs/a/c"])
    with pytest.raises(InputError, match="contains 2 networks of retriever=transformer: choose a run with only one"):
        Transformer(from_run="outputs/a/c").fit(history)


def test_other_lists_and_rankers_train_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cached = [word for word in NEWS if word not in ("cache=off", "ranker=identity")]
    linear = ["ranker=linear", "feature=basic", "ranker.resamples=0"]
    first = recx.run([*cached, *linear])
    monkeypatch.setattr(Learner, "step", None)
    for words in ([*linear, "n_candidates=7"], ["ranker=identity"], [*linear, "ranker.l2=1", "cache=read"]):
        again = recx.run([*cached, *words])
        assert again.hits is not None
        assert again.hits["fit_retriever"] == again.passes["fit_retriever"]
        expected = first.candidates.top(7) if "n_candidates=7" in words else first.candidates
        assert np.array_equal(again.candidates.item, expected.item)

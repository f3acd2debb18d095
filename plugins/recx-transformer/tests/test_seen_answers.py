"""A network of an earlier run is used only where it has not seen the answers, and the card says what it has seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recx_transformer.circle import circle, small
from recx_transformer.fitted import FittedTransformer

import recx
from recx.plugin import InputError, SeenEvents, fitted_parts_of

SMALL = [
    *("+experiment=news", "dataset.readers=120", "dataset.articles=60", "tracker=console", "cache=off"),
    *("retriever=transformer", "retriever.factors=16", "retriever.epochs=1", "retriever.validation_users=0"),
    *("retriever.recent=[]", "retriever.negatives=8", "feature=basic"),
]
SAID = r"retriever.from_run=\S+: its network has learned from events of (\d+) users that are not in this history"


def run(name: str, *words: str) -> dict[str, Any]:
    """Run and return the protocol card."""
    recx.run([*SMALL, f"hydra.run.dir=outputs/a/{name}", *words])
    card: dict[str, Any] = json.loads(Path(f"outputs/a/{name}/protocol.json").read_text())
    return card


def seen_by(name: str) -> dict[str, Any]:
    """Return what the network of a run has seen."""
    [fitted] = fitted_parts_of(Path(f"outputs/a/{name}/model"), FittedTransformer)
    return fitted.seen.statement()


@pytest.mark.slow
def test_a_network_that_has_seen_the_answers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    identity = "ranker=identity"
    for fold in ("predict", "test", "valid"):
        assert "loaded" not in run(fold, f"fold={fold}", identity)
    allowed = {
        "test": ["test", "valid"],
        "valid": ["valid"],
        "predict": ["predict", "test", "valid"],
    }
    for fold, sources in allowed.items():
        for source in ("predict", "test", "valid"):
            words = [f"fold={fold}", f"retriever.from_run=outputs/a/{source}", identity]
            if source not in sources:
                with pytest.raises(InputError, match=SAID):
                    run("again", *words)
                continue
            seen = seen_by(source)
            said = run("again", *words)["loaded"]["retriever"]
            assert said == {"from": str(Path(f"outputs/a/{source}/model")), "seen": seen}
    with pytest.raises(InputError, match=SAID):  # a ranker that learns one step earlier would trust it too much
        run("again", "retriever.from_run=outputs/a/test", "ranker=linear")
    run("again", "retriever.from_run=outputs/a/valid", "ranker=linear", "ranker.resamples=0")
    # A union that holds it says so too, and so does a run whose network came from a run before.
    union = ["retriever=union_news_transformer", "retriever.sources.transformer.from_run=outputs/a/again", identity]
    recx.run([*SMALL[:6], "hydra.run.dir=outputs/a/union", *union])
    card = json.loads(Path("outputs/a/union/protocol.json").read_text())
    assert card["loaded"]["retriever"]["seen"] == seen_by("valid")
    with pytest.raises(InputError, match=SAID):
        recx.run([*SMALL[:6], "hydra.run.dir=outputs/a/union", *union, "fold=valid", "seed=0", "split.n=2"])


def test_what_only_validates_is_seen_too() -> None:
    world = circle(60, 8)
    fitted = small(epochs=1, refit_all=False).fit(world)
    assert fitted.seen.statement() == SeenEvents.of(world).statement()
    assert fitted.seen.users_outside(circle(60, 7)) == 60
    assert fitted.seen.users_outside(circle(60, 9)) == 0

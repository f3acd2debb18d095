"""``ranker=cross_encoder``: scores how well the user's text and the item's match by reading them together."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from recx.plugin import (
    UNKNOWN_EVENTS,
    Examples,
    FitSummary,
    Fold,
    InputError,
    Interactions,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    RankedLists,
    Requests,
    Stopping,
    Training,
    Unit,
    Unretrieved,
    Validation,
    checked,
    read_text,
    texts_of,
    trained_on,
    write_text,
)
from recx_text.learner import Learner, draw_from
from recx_text.models import Device, Precision, depends_on, device_of, digest_of, folder_of, unchanged
from recx_text.network import Network

FILE = "cross_encoder.json"
HELD_OUT = 0.1  # share of the users that the validation takes, if they are not more than it may


@dataclass(frozen=True)
@checked("ranker")
class CrossEncoder(Stopping):
    """A cross-encoder of sentence-transformers (Nogueira and Cho 2019), used as it is or trained further.

    It learns from the lists of the past fold to give each target a higher score than candidates of the same list that
    are worth less, drawn anew in every epoch, with AdamW. The learning rate rises linearly in the warm-up and falls
    linearly to 0 at the last planned epoch.

    Attributes:
        model: A folder, or a name on the Hugging Face hub. A sentence model, which is not a cross-encoder, gets a new
            output and must be trained.
        top: Number of candidates of each list that it learns from and scores, the others keep their order below; None:
            all.
        max_length: Maximum number of tokens of a pair; None: the model's own maximum.
        batch_size: Number of pairs per batch.
        device: ``cpu``, ``cuda``, ``mps``, or ``auto``: the first available of cuda, mps and cpu.
        epochs: Passes over the targets; with a validation, the maximum; 0: the model is used as it is.
        loss: ``listwise``: softmax cross-entropy of the target among those drawn with it (Cao et al. 2007);
            ``pairwise``: logistic loss of each pair (RankNet, Burges et al. 2005).
        negatives: Number of candidates drawn for each target, of those with a lower grade.
        learning_rate: Highest learning rate.
        warmup: Share of the planned steps in which the learning rate rises.
        weight_decay: Of AdamW, on matrices.
        frozen_layers: Number of the lowest layers that are not trained, nor are the embeddings then; 0: all are.
        precision: Of products in training: ``float32``, ``bfloat16``, or ``auto``: bfloat16 on a GPU that has it.
        missed: Targets that were not retrieved: ``drop`` them, or ``add`` them to the candidates for training.
        max_users: Train on a random sample of at most so many users.
        validation_users: Maximum number of users held out to choose the number of epochs, at most a tenth; 0: none.
    """

    gives_probabilities: ClassVar[bool] = False
    """Its scores are those before a sigmoid."""

    model: str = "cross-encoder/ms-marco-MiniLM-L6-v2"
    top: PositiveInt | None = None
    max_length: PositiveInt | None = None
    batch_size: PositiveInt = 64
    device: Device = "auto"
    epochs: NonNegativeInt = 0
    loss: Literal["listwise", "pairwise"] = "listwise"
    negatives: PositiveInt = 7
    learning_rate: PositiveFloat = 5e-5
    warmup: Unit = 0.1
    weight_decay: NonNegativeFloat = 0.01
    frozen_layers: NonNegativeInt = 0
    precision: Precision = "auto"
    missed: Unretrieved = "drop"
    max_users: PositiveInt = 10_000
    validation_users: NonNegativeInt = 200
    patience: PositiveInt = field(default=1, kw_only=True)
    refit_all: bool = field(default=False, kw_only=True)

    @property
    def trains(self) -> bool:
        """Whether it is trained at all (see ``recx.core.protocols.is_trained``)."""
        return self.epochs > 0

    @property
    def sample(self) -> tuple[int, int] | None:
        """The largest number of users that it learns from, and the seed of their draw; None if it learns nothing."""
        return (self.max_users, self.seed) if self.trains else None

    @property
    def depends_on(self) -> list[Path | str]:
        """The model's files and the processor (see ``recx.storage.cache.keys``)."""
        return depends_on(self.model, self.device, "ranker")

    @property
    def loaded(self) -> dict[str, str]:
        """What the protocol card says of the model (see ``recx.core.protocols.Loading``)."""
        return {"from": self.model, "seen": UNKNOWN_EVENTS}

    def for_users(self, history: Interactions) -> CrossEncoder:
        """Return the ranker itself: of the users who ask, it reads what it is given."""
        return self

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedCrossEncoder:
        """Train the model on the lists of the past fold.

        Raises:
            InputError: There are no texts or no target among the candidates, the model or the device is not available,
                or the checkpoint cannot be used.
            RecxError: The loss is not finite.
        """
        device, folder = device_of(self.device, "ranker"), folder_of(self.model, "ranker")
        lists = candidates if self.top is None else candidates.top(self.top)
        examples = Examples.of(lists, fold, self.missed, self.max_users, self.seed)
        history, new = fold.history, []

        def learner_of(part: Examples) -> Learner:
            draw_from(self.seed)
            network, has_new_output = Network.to_train(folder, device, self.max_length)
            new.append(has_new_output)
            return Learner.of(self, network, part, history)

        def held_back() -> Validation[Learner] | None:
            if not self.validation_users:
                return None
            if len(examples) < 2:
                return Validation()
            share = min(HELD_OUT, self.validation_users / len(examples))
            learnt, apart = examples.set_apart(share, self.seed)
            return Validation(
                len(apart),
                lambda: learner_of(learnt),
                lambda learner: apart.ndcg(
                    learner.network.ranked(apart.lists, history, None, self.batch_size),
                ),
            )

        def fingerprint() -> dict[str, Any]:
            return {"files": digest_of(folder), "device": device, "lists": _digest(examples, history)}

        of = Training(self, "ranker", "cross_encoder", self.epochs, fingerprint)
        with torch.random.fork_rng():
            learner, summary = trained_on(of, lambda: learner_of(examples), held_back)
        notes = {
            **learner.examples.notes,
            "cross_encoder_new_output": int(new[-1]),
            "cross_encoder_targets_without_negative": learner.groups.without_lower,
            **summary.notes,
        }
        return FittedCrossEncoder(
            learner.network, self.top, self.batch_size, self.device, replace(summary, notes=notes)
        )

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the order of the model as it is.

        Raises:
            InputError: The users or the items have no texts, the model or the device is not available, or the model is
                not a reranker.
        """
        folder = folder_of(self.model, "ranker")
        network = Network.of(folder, device_of(self.device, "ranker"), self.max_length)
        return network.ranked(candidates, history, self.top, self.batch_size)

    def save(self, folder: Path) -> None:
        """Write the settings and the digest of the model's files."""
        about = {"settings": asdict(self), "digest": digest_of(folder_of(self.model, "ranker"))}
        write_text(folder / FILE, json.dumps(about))

    @classmethod
    def load(cls, folder: Path) -> CrossEncoder:
        """Return the ranker that was saved into a folder.

        Raises:
            InputError: The file is missing or damaged, or the model's files are not those of the run.
        """
        try:
            about = json.loads(read_text(folder / FILE))
            ranker, digest = cls(**about["settings"]), str(about["digest"])
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise InputError(
                f"{folder / FILE} is damaged ({type(error).__name__}): run the experiment again"
            ) from error
        unchanged(ranker.model, digest, "ranker")
        return ranker


@dataclass(frozen=True, eq=False)
class FittedCrossEncoder:
    """A cross-encoder that was trained, which needs no other model's files.

    Attributes:
        network: The network.
        top: Number of candidates of each list that it scores, the others keep their order below; None: all.
        batch_size: Number of pairs per batch.
        device: The setting ``device``.
        summary: Counts of the fit, and its curves: the loss and the validation's ndcg_at_10 after each epoch.
    """

    gives_probabilities: ClassVar[bool] = False

    network: Network
    top: int | None
    batch_size: int
    device: Device
    summary: FitSummary

    def for_users(self, history: Interactions) -> FittedCrossEncoder:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates ordered by how well their texts match the user's.

        Raises:
            InputError: The users or the items have no texts, or the device is not available.
        """
        self.network.model.to(device_of(self.device, "ranker"))
        return self.network.ranked(candidates, history, self.top, self.batch_size)


def _digest(examples: Examples, history: Interactions) -> str:
    """Return a digest of all that training reads of the lists: their gains and texts."""
    lists, digest = examples.lists, blake2b(digest_size=16)
    for array in (lists.indptr, lists.user, lists.item, examples.gain):
        digest.update(array.tobytes())
    for texts in (
        texts_of(history.users, "users", np.unique(lists.user)),
        texts_of(history.items, "items", np.unique(lists.item)),
    ):
        digest.update(json.dumps([str(text) for text in texts]).encode())
    return digest.hexdigest()

"""Whether a chain has the probabilities that its figures need, found out before any data is read."""

from __future__ import annotations

from recx.core.errors import InputError
from recx.core.protocols import Scoring
from recx.evaluation.ctr.evaluator import Ctr
from recx.evaluation.evaluator import STAGES, Evaluator
from recx.experiment.experiment import Experiment
from recx.parts.ranker.identity import Identity


def check_probabilities(experiment: Experiment) -> None:
    """Raise InputError if a figure needs probabilities and the scores of its lists are known to be none.

    Of parts that do not know (see ``recx.core.protocols.Scoring``) the figures look at the scores themselves.
    """
    evaluator, retriever = experiment.evaluator, experiment.retriever
    if experiment.fold == "predict":
        return
    ranker = retriever if isinstance(experiment.ranker, Identity) else experiment.ranker
    if isinstance(evaluator, Ctr) and isinstance(ranker, Scoring) and not ranker.gives_probabilities:
        raise InputError(
            f"evaluator=ctr needs probabilities, and the scores of {type(ranker).__name__} are none: {_way_out('')}, "
            "or choose evaluator=default"
        )
    if not isinstance(evaluator, Evaluator):
        return
    for key, stage in {**dict(zip(STAGES, STAGES, strict=True)), "tables": "end_to_end"}.items():
        part = retriever if stage == "retrieval" else ranker
        names = ", ".join(evaluator.need_probabilities(key))
        if names and isinstance(part, Scoring) and not part.gives_probabilities:
            raise InputError(
                f"evaluator.{key}: {names} needs probabilities, and the scores of {type(part).__name__} are none: "
                f"{_way_out(stage)}, or leave {names} out"
            )


def _way_out(stage: str) -> str:
    if stage == "retrieval":
        return "judge the ranker's lists instead (evaluator.end_to_end)"
    return "choose ranker=linear with ranker.probabilities=platt (or softmax), or with ranker.loss=logistic"

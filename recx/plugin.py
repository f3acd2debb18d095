"""The one module that authors of parts import: every name here is public, and a change to the list is in CHANGELOG.md.

    from recx.plugin import Interactions, RankedLists, Requests, top_k

What each kind of part must do is described by the protocols, what passes between parts by the types. A part whose
results depend on more than its settings, the files that they name and its code says so by ``depends_on`` or
``cacheable`` (see ``recx.core.protocols``): otherwise the stage cache returns what is no longer true. Tests of parts
also import ``recx.testing``. What users call is in ``recx`` itself: ``recx.run``, ``recx.evaluate`` and others.
"""

from recx.core.bounds import (
    Decay,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Seed,
    Share,
    Unit,
    check,
    checked,
)
from recx.core.chosen import params as chosen_params
from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.environments import python_of
from recx.core.errors import InputError, RecxError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.filters import Filter
from recx.core.fit_summary import FitSummary
from recx.core.judged_lists import JudgedLists
from recx.core.kept_parts import NotKept, Saveable
from recx.core.memo import once_per_input
from recx.core.nouns import Nouns
from recx.core.per_user import NotPerUserError, PerUser
from recx.core.progress import bar, say, track
from recx.core.project import check_address
from recx.core.protocols import (
    Dataset,
    Encoder,
    Evaluator,
    Explainable,
    Feature,
    Featured,
    FeatureSet,
    FittedEncoder,
    FittedFeature,
    FittedRanker,
    FittedRetriever,
    FoldName,
    HasDiagnostics,
    Loading,
    Metric,
    Preflight,
    Pruner,
    Ranker,
    Retriever,
    Sampling,
    Scoring,
    Seen,
    SlateRetriever,
    Splitter,
)
from recx.core.pruning import Pruned, reached
from recx.core.ragged import (
    blocks,
    group_of_rows,
    indptr_of,
    max_of_groups,
    order_in_groups,
    position_of_rows,
    rows_of_groups,
    sum_of_groups,
)
from recx.core.room import check_room
from recx.core.run_context import RunContext
from recx.core.seen_events import UNKNOWN_EVENTS, SeenEvents
from recx.core.similar import FindsSimilar, Similar
from recx.core.subset import with_events, with_only
from recx.core.system.atomic import replacing, write_text
from recx.core.system.durations import HOUR, SECOND, Duration, milliseconds
from recx.core.system.plain_files import check_plain, read_text
from recx.core.system.signals import stoppable
from recx.core.system.threads import available, one_blas_thread
from recx.core.total import Total
from recx.core.trackers import KeptModel, ModelRun, Run, SweepTracker, Tracker
from recx.core.types import (
    Array,
    Bools,
    Doubles,
    Floats,
    Fold,
    Interactions,
    Ints,
    Longs,
    Notes,
    RankedLists,
    Requests,
    Split,
    Vectors,
)
from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.experiment.model.folder import fitted_parts_of
from recx.parts.feature.fitted import Constant, FittedWith, PerItem
from recx.parts.retriever.external import FittedExternal, fit_program
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.click_counts import EventCounter
from recx.parts.shared.clicked_items import ClickedItems, PairValue
from recx.parts.shared.design_matrix import Features, check_names, design_blocks, design_matrix, names_of
from recx.parts.shared.epochs import Epochs, Stopping
from recx.parts.shared.inner_validation import Inner
from recx.parts.shared.program import Program
from recx.parts.shared.texts import texts_of
from recx.parts.shared.top_k import Eligibility, OfItems, top_k
from recx.parts.shared.training import MOMENT, After, Learner, Trainee, Training, Validation, trained, trained_on
from recx.parts.shared.training_examples import Examples, Unretrieved
from recx.parts.shared.vectors import unit, unit_embedding
from recx.parts.split.folds import may_be_target, split_by_steps

# fmt: off
__all__ = [  # noqa: RUF022 (grouped by what the names are for)
    # errors and settings
    "InputError", "RecxError", "did_you_mean", "check", "checked", "Decay", "Duration", "NonNegativeFloat",
    "NonNegativeInt", "PositiveFloat", "PositiveInt", "Seed", "Share", "Unit", "milliseconds", "HOUR", "SECOND",
    "check_plain", "read_text",
    # arrays and what passes between the parts
    "Array", "Bools", "Doubles", "Floats", "Ints", "Longs", "Notes", "Vectors", "UNKNOWN_TIME", "Entities",
    "Evaluation", "FitSummary", "Fold", "Interactions", "JudgedLists", "Nouns", "RankedLists", "Requests", "RunContext",
    "Split", "Total",
    # what parts must do
    "Dataset", "Encoder", "Evaluator", "Explainable", "Feature", "FeatureSet", "Featured", "Filter", "FittedEncoder",
    "FittedFeature", "FittedRanker", "FittedRetriever", "FoldName", "HasDiagnostics", "Loading", "Metric", "Preflight",
    "FindsSimilar", "NotPerUserError", "PerUser", "Pruner", "Ranker", "Retriever", "Run", "Sampling", "Saveable",
    "Scoring", "Seen", "Similar", "SlateRetriever", "Splitter", "SweepTracker", "Tracker", "KeptModel", "ModelRun",
    "chosen_params",
    # a part that was made elsewhere, and what it has seen
    "UNKNOWN_EVENTS", "SeenEvents", "fitted_parts_of",
    # a program in another environment
    "FittedExternal", "Program", "fit_program", "python_of",
    # a server, and a part that no file may hold
    "NotKept", "check_address",
    # groups of rows
    "blocks", "group_of_rows", "indptr_of", "max_of_groups", "order_in_groups", "position_of_rows", "rows_of_groups",
    "sum_of_groups",
    # filtering
    "with_events", "with_only",
    # splitting, retrieving, learning, features, texts
    "may_be_target", "split_by_steps", "ClickedItems", "PairValue", "Eligibility", "OfItems", "top_k", "ANY_GAIN",
    "Analyzer", "EventCounter", "Examples", "GroundTruth", "Unretrieved", "Constant", "FittedWith", "PerItem",
    "Features", "check_names", "design_blocks", "design_matrix", "names_of", "texts_of", "unit", "unit_embedding",
    # training epoch by epoch
    "MOMENT", "After", "Epochs", "Inner", "Learner", "Stopping", "Trainee", "Training", "Validation", "trained",
    "trained_on",
    # while a part works
    "Pruned", "available", "bar", "check_room", "once_per_input", "one_blas_thread", "reached", "replacing", "say",
    "stoppable", "track", "write_text",
]
# fmt: on

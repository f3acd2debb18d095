"""What a part must be able to do. A part is a frozen dataclass of its settings with one method.

The method takes data and returns new data; ``fit`` returns another object, the fitted part. There is no base class and
no registry: a class that has the method is a part. ``recx.testing`` has contract tests for each kind.

The stage cache keeps what a part returns under its settings, the content of the files and folders that they name, its
code with all that this imports, and the environment variables that the code names. A part whose results depend on
anything else says so by an attribute or property that is not a setting:

- ``depends_on``: what else counts, in a tuple: plain values, such as ``os.environ.get(self.variable)``, or the ``Path``
  of a file or folder, which counts by its content;
- ``cacheable = False``: nothing that it returns is kept, since it depends on what has no content to compare, such as a
  database or a web service;
- ``reads``: patterns of the names of the files that count where the setting ``path`` names a folder, such as
  ``("clicks.csv", "*.inter")``, plain or gzipped; without it, all files in the folder and below do;
- ``files``: the names of settings that name files: paths or patterns, one or several of each, or addresses;
- ``written``: the names of settings that name what it only writes to, which do not count;
- ``named_parts``: other parts that its settings refer to by name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.precision import Reals
from recx.core.total import Total
from recx.core.types import Array, Doubles, Fold, Interactions, RankedLists, Requests, Split, Vectors

if TYPE_CHECKING:
    from typing_extensions import TypeIs  # in typing from Python 3.13 on

T = TypeVar("T")
FoldName = Literal["predict", "test", "valid"]
"""The last step, the one before it, or the time after the data."""
Seen = Literal["drop", "keep"]
"""Whether items may be shown that a user has seen."""
CacheMode = Literal["off", "on", "read"]


class Dataset(Protocol):
    """A source of data."""

    def load(self) -> Interactions:
        """Return all events."""


class Splitter(Protocol):
    """A way to divide events into history and targets.

    The protocol card shows the first paragraph of its docstring. One that holds out events whenever they happened, so
    that what came after a target may be known of its own user, says so by ``ignores_time = True``.
    """

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold of this name of the interactions and, if a ranker can be trained, the one a step earlier."""


def ignores_time(splitter: Splitter) -> bool:
    """Return whether a split holds out events whenever they happened."""
    return bool(getattr(splitter, "ignores_time", False))


@runtime_checkable
class FittedRetriever(Protocol):
    """A retriever that has been fitted."""

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return at most ``k`` items for each of the requests, best first, given the history of all users."""


class Retriever(Protocol):
    """A source of candidates."""

    def fit(self, history: Interactions) -> FittedRetriever:
        """Learn from the events of a history."""


@runtime_checkable
class SlateRetriever(Protocol):
    """A retriever whose candidates may be the lists offered by the data itself; the protocol card reports this."""

    @property
    def retrieves_slates(self) -> bool:
        """Whether the candidates are the data's own lists."""


def retrieves_slates(retriever: object) -> bool:
    """Return whether a retriever's candidates are the lists offered by the data itself."""
    return isinstance(retriever, SlateRetriever) and bool(retriever.retrieves_slates)


@runtime_checkable
class Loading(Protocol):
    """A part that uses something made elsewhere: by an earlier run, or by someone else."""

    @property
    def loaded(self) -> Mapping[str, Any]:
        """What the protocol card says of it: ``from``, and ``seen``, the events that it has learned from.

        ``seen`` is a ``recx.core.seen_events.SeenEvents.statement()``, or ``UNKNOWN_EVENTS``; {} if nothing is loaded.
        """


class FittedRanker(Protocol):
    """A ranker that can score candidates."""

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in a new order, made by ``reorder``; history and requests are the retriever's."""


@runtime_checkable
class Ranker(Protocol):
    """A ranker that is trained; one that needs no training is a ``FittedRanker`` and has no ``fit``.

    One whose settings may leave it as it is has both methods and says which counts by the property ``trains``.
    """

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedRanker:
        """Learn to put ``fold.target`` first among the candidates, which the retriever found for this fold."""


def is_trained(ranker: Ranker | FittedRanker) -> TypeIs[Ranker]:
    """Return whether a ranker is one that is trained."""
    return isinstance(ranker, Ranker) and bool(getattr(ranker, "trains", True))


@runtime_checkable
class Sampling(Protocol):
    """A ranker that learns from a random sample of the users: not all users of the past fold need candidates."""

    @property
    def sample(self) -> tuple[int, int] | None:
        """The largest number of users and the seed of their draw; None: it learns from all."""


@runtime_checkable
class Explainable(Protocol):
    """A fitted ranker whose scores are sums of one contribution per feature, up to a constant."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the features."""

    def contributions(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Doubles:
        """Return what each feature adds to each score [n_rows, n_names]; candidates, history, requests as in ``rank``.

        Raises:
            InputError: The ranker was fitted with features other than those in its settings.
        """


@runtime_checkable
class Preflight(Protocol):
    """A retriever, ranker, engine or pruner with requirements that are checked before any data is read."""

    def preflight(self) -> None:
        """Acquire what the part requires.

        Raises:
            InputError: A requirement is not available.
        """


@runtime_checkable
class HasDiagnostics(Protocol):
    """A ranker that computes more than its lists depend on, such as intervals, which trials of a sweep do not show."""

    def without_diagnostics(self) -> Ranker:
        """Return a ranker that makes the same lists and computes nothing else."""


@runtime_checkable
class Scoring(Protocol):
    """A retriever or ranker that knows whether its scores are probabilities."""

    @property
    def gives_probabilities(self) -> bool:
        """Whether the scores of its lists are probabilities of being a target."""


class FittedFeature(Protocol):
    """A feature of one history. It holds all that it needs, so that threads can share it, and processes too."""

    def __call__(self, candidates: RankedLists, requests: Requests) -> Reals:
        """Return one number per row [n_rows], from what was known before the request."""


class Feature(Protocol):
    """One number per candidate. A feature is named by its key in the configuration (``conf/feature``)."""

    def fit(self, history: Interactions) -> FittedFeature:
        """Make everything that depends on the history alone, once for all requests."""


@runtime_checkable
class FeatureSet(Protocol):
    """Several features at once, such as all columns of a slate's rows."""

    def names(self, candidates: RankedLists) -> Sequence[str]:
        """Return the names of the features that are available for all candidates."""

    def fit(self, history: Interactions) -> FittedFeature:
        """Make what depends on the history alone; the fitted features have one number per row and name."""


@runtime_checkable
class Featured(Protocol):
    """A ranker that learns from features."""

    @property
    def features(self) -> Mapping[str, Feature | FeatureSet]:
        """The features by name."""


@runtime_checkable
class ByFeatures(Protocol):
    """A fitted ranker that ranks by features."""

    def with_features(self, features: Mapping[str, Feature | FeatureSet]) -> FittedRanker:
        """Return the same ranker with other features under the same names."""


class FittedEncoder(Protocol):
    """An encoder that has been fitted."""

    def encode(self, texts: Array) -> Vectors:
        """Return a vector [n, d] for each of the texts [n], of length 1, or 0 for a text without content."""


class Encoder(Protocol):
    """Maps texts to vectors whose cosine similarity reflects the similarity of the texts."""

    def fit(self, texts: Array) -> FittedEncoder:
        """Learn from texts [n] which terms matter; a pretrained encoder learns nothing."""


class Metric(Protocol):
    """A metric of judged lists.

    Of many users it is computed in blocks of them, but for one number that is no ``Total``: that is computed on all
    users' lists at once, as is everything of a metric whose property ``needs_all`` is true.
    """

    @property
    def name(self) -> str:
        """The name under which the value is reported."""

    def __call__(self, judged: JudgedLists) -> Doubles | Total[float] | float:
        """Return one value per user [n_users], which depends on that user's list alone, or one number for all."""


class Engine(Protocol):
    """Serves the blocks of requests, on one machine or on many."""

    def each(self, work: Callable[[Requests], T], blocks: Iterable[Requests]) -> Generator[T, None, None]:
        """Yield the result of ``work`` for each block, in the order of the blocks.

        Blocks are taken as results are wanted, and what served them is given back when the generator is closed.

        Raises:
            InputError: The work cannot be done there.
            RecxError: A part violated its protocol, or the machines failed.
        """


class Evaluator(Protocol):
    """Computes the figures of a chain."""

    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Evaluation:
        """Return the figures of the candidates and of the recommendations, made of them, on a fold with targets."""


@runtime_checkable
class Thresholded(Protocol):
    """An evaluator that chooses the grade from which targets are relevant; for other evaluators it is 1."""

    @property
    def rel_threshold(self) -> float:
        """The grade from which a target is relevant."""


@runtime_checkable
class Cutting(Protocol):
    """An evaluator whose metrics cut the lists."""

    @property
    def cuts(self) -> Sequence[int]:
        """The cuts of all its metrics, smallest first."""


class Pruner(Protocol):
    """Decides which trials of a sweep to stop early.

    A course is what a trial's first fit passed to ``recx.core.pruning.reached``: epoch, from 1 -> value; larger is
    better.
    """

    def prune(self, course: Mapping[int, float], others: Sequence[Mapping[int, float]]) -> bool:
        """Return whether to stop a trial at the last epoch of its course.

        Args:
            course: The trial's course so far.
            others: The courses of earlier trials that ran to their end. Equal courses must get equal answers.
        """

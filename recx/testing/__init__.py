"""Contract checks and a tiny data set for authors of parts.

from recx.testing import check_retriever, tiny_world

def test_my_retriever_keeps_its_contract():
    check_retriever(MyRetriever())
"""

from recx.core.pruning import FirstFit, noted, watched
from recx.testing.checks import check_feature, check_metric, check_ranker, check_retriever
from recx.testing.checks_of_data import check_dataset, check_encoder, check_filter, check_splitter
from recx.testing.checks_of_options import check_listing, check_option
from recx.testing.checks_of_trackers import check_tracker
from recx.testing.checks_of_training import check_training
from recx.testing.options import config_of, part_of
from recx.testing.tiny_dataset import everyone_asks, last_out, other_future, some_candidates, tiny_world

__all__ = [
    "FirstFit",
    "check_dataset",
    "check_encoder",
    "check_feature",
    "check_filter",
    "check_listing",
    "check_metric",
    "check_option",
    "check_ranker",
    "check_retriever",
    "check_splitter",
    "check_tracker",
    "check_training",
    "config_of",
    "everyone_asks",
    "last_out",
    "noted",
    "other_future",
    "part_of",
    "some_candidates",
    "tiny_world",
    "watched",
]

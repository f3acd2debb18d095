"""Serves requests with a chain."""

from __future__ import annotations

from recx.core.progress import Stages
from recx.core.protocols import Engine
from recx.core.types import Interactions, RankedLists, Requests
from recx.experiment.blocks import Serving, serve
from recx.experiment.engine.local import Local
from recx.experiment.model.chain import Chain


def serve_with(
    chain: Chain, history: Interactions, requests: Requests, stage: Stages, engine: Engine | None = None
) -> RankedLists:
    """Return the recommendations of requests, in blocks as in the run (see ``recx.experiment.blocks``)."""
    serving = Serving(chain.retriever, chain.ranker, history, chain.n_candidates)
    return serve(engine or Local(), serving, requests, stage)[-1]

"""Serves requests with a chain."""

from __future__ import annotations

from contextlib import nullcontext

from recx.core.progress import Stages
from recx.core.protocols import Engine
from recx.core.system.threads import one_blas_thread
from recx.core.types import Interactions, RankedLists, Requests
from recx.experiment.blocks import REQUESTS, Serving, serve
from recx.experiment.engine.local import Local
from recx.experiment.model.chain import Chain

FEW = 64
"""Requests whose products of matrices one thread computes faster than several, which wait for one another."""


def serve_with(
    chain: Chain, history: Interactions, requests: Requests, stage: Stages | None = None, engine: Engine | None = None
) -> RankedLists:
    """Return the recommendations of requests, in blocks as in the run (see ``recx.experiment.blocks``).

    Args:
        chain: The chain.
        history: The events before the requests.
        requests: The requests.
        stage: Adds up the time of each stage; None: it is not measured.
        engine: Where the blocks are served; None: on this machine.
    """
    serving = serving_of(chain, history)
    if stage is None and engine is None and len(requests) <= REQUESTS:
        with one_blas_thread() if len(requests) <= FEW else nullcontext():
            return serving.lists(requests)[-1]
    return serve(engine or Local(), serving, requests, stage or Stages(aloud=False))[-1]


def serving_of(chain: Chain, history: Interactions) -> Serving:
    """Return what serves blocks of requests with a chain."""
    return Serving(chain.retriever, chain.ranker, history, chain.n_candidates)

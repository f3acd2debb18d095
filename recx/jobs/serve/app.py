"""The endpoints."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from recx.core.version import __version__
from recx.jobs.serve import counters, schema
from recx.jobs.serve.answers import Answers
from recx.jobs.serve.body import check_query, parse
from recx.jobs.serve.counters import Counters
from recx.jobs.serve.gate import Gate
from recx.jobs.serve.page import page
from recx.jobs.serve.refusal import Json, refusal
from recx.jobs.serve.together import Together
from recx.jobs.serve.turns import Turns

FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": schema.Failure, "description": "not HTTP, JSON or UTF-8 as it should be, or for another host"},
    401: {"model": schema.Failure, "description": "without the token"},
    408: {"model": schema.Failure, "description": "the request did not arrive in time"},
    404: {"model": schema.Failure, "description": "there is no such address"},
    405: {"model": schema.Failure, "description": "the address does not take this method"},
    413: {"model": schema.Failure, "description": "the body is too large"},
    415: {"model": schema.Failure, "description": "the body is not declared as JSON"},
    422: {"model": schema.Failure, "description": "a value cannot be used"},
    431: {"model": schema.Failure, "description": "the headers are too large"},
    501: {"model": schema.Failure, "description": "this model cannot do that"},
    503: {"model": schema.Failure, "description": "too many requests at once"},
    504: {"model": schema.Failure, "description": "there was no answer in time"},
}


class StrictRequest(Request):
    """A request whose body is read strictly."""

    async def json(self) -> Any:
        """Return the value of the body (raises as ``parse`` does)."""
        return parse(await self.body())


class StrictRoute(APIRoute):
    """A route that reads bodies strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


async def _once(request: Request) -> None:
    check_query(request.scope["query_string"], ("users", "items"))


def application(answers: Answers, counted: Counters, token: str = "", hosts: tuple[str, ...] = ()) -> ASGIApp:
    """Return the ASGI application.

    Args:
        answers: Answers with the model.
        counted: Counts the answers.
        token: What requests must bring; "": nothing.
        hosts: What the header Host may name; (): anything.
    """
    app = FastAPI(
        title="recx", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False, responses=FAILURES
    )
    app.router.route_class = StrictRoute
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _failed)
    turns = Turns(answers.limits.waiting)
    _add_users(app, answers, turns)
    _add_items(app, answers, turns)
    _add_pages(app, answers, counted)
    return Gate(app, answers.limits, counted, token, hosts)


def _add_users(app: FastAPI, answers: Answers, turns: Turns) -> None:
    """Add the endpoints that recommend to users."""
    together = Together(turns)

    @app.post("/recommend", response_model=schema.Recommendations, summary="The best items of users")
    async def recommend(body: schema.Recommend) -> Response:
        return await _recommended(answers, turns, together, body)

    @app.get(
        "/recommend",
        response_model=schema.Recommendations,
        summary="The same in an address",
        dependencies=[Depends(_once)],
    )
    async def recommend_query(query: Annotated[schema.RecommendQuery, Query()]) -> Response:
        return await _recommended(answers, turns, together, answers.of_query(query))


async def _recommended(answers: Answers, turns: Turns, together: Together, asked: schema.Recommend) -> Response:
    """Return the lists of users, made together with those of others who wait, if the request names users alone."""
    users = asked.users
    if users is None or not answers.is_of_known(asked):
        return await turns.take(lambda: Json(answers.recommend(asked)))
    answers.check(users, asked.k)

    def answer(users: Sequence[Any]) -> list[dict[str, Any]]:
        return answers.of_known(users, asked.k, asked.at)

    lists = await together.take((asked.k, asked.at), users, answer)
    return Json({"recommendations": lists, "unknown_items": 0})


def _add_items(app: FastAPI, answers: Answers, turns: Turns) -> None:
    """Add the endpoints that need no user."""

    @app.post("/rank", response_model=schema.Ranked, summary="Candidates in the order of the model for a text")
    async def rank(body: schema.Rank) -> Response:
        return await turns.take(lambda: Json(answers.rank(body)))

    @app.post("/similar", response_model=schema.Items, summary="The items nearest to one")
    async def similar(body: schema.Similar) -> Response:
        return await turns.take(lambda: Json(answers.similar(body)))

    @app.get("/similar", response_model=schema.Items, summary="The same in an address", dependencies=[Depends(_once)])
    async def similar_query(query: Annotated[schema.SimilarQuery, Query()]) -> Response:
        return await turns.take(lambda: Json(answers.similar_query(query)))


def _add_pages(app: FastAPI, answers: Answers, counted: Counters) -> None:
    """Add the endpoints that tell of the server."""

    @app.get("/health", response_model=schema.Health, summary="Whether the server answers; needs no token")
    async def health() -> Response:
        return Json({"status": "ok"})

    @app.get("/metadata", summary="What is served")
    async def metadata() -> Response:
        return Json(answers.about)

    @app.get("/metrics", response_class=PlainTextResponse, summary="Counts and latencies for Prometheus")
    async def metrics() -> Response:
        return Response(counted.text(), media_type=counters.TEXT)

    @app.get("/docs", response_class=HTMLResponse, summary="This page")
    async def docs() -> Response:
        return page(app.openapi())


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return refusal(422, schema.sentence(error.errors()))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path, headers = request.scope["path"][:80], error.headers
    if error.status_code == 405:  # Starlette names the methods of the first route alone
        headers = {"Allow": ", ".join(_methods(request.app, request.scope["path"]))}
    detail = {
        404: f"there is no {path!r} here: see /docs",
        405: f"{path!r} does not take {request.method[:20]}: see /docs",
    }.get(error.status_code, error.detail)
    return refusal(error.status_code, detail, headers)


def _methods(app: FastAPI, path: str) -> list[str]:
    routes = (route for route in app.routes if isinstance(route, Route) and route.path == path)
    return sorted({method for route in routes for method in route.methods or ()})


async def _failed(request: Request, error: Exception) -> Response:
    return refusal(500, "an unexpected error: the server's output says more")

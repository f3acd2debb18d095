"""A small model with its events, as a run keeps it, and clients of it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

from recx.experiment.model import folder
from recx.experiment.model.chain import Chain
from recx.experiment.model.keep import known_of
from recx.experiment.model.model import Model
from recx.jobs.serve.answers import Answers
from recx.jobs.serve.app import application
from recx.jobs.serve.counters import Counters
from recx.jobs.serve.limits import Limits
from recx.jobs.serve.server import Server
from recx.jobs.serve.settings import LOCAL
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.popularity import Popularity
from recx.parts.split.leave_last import LeaveLast
from recx.testing.tiny_dataset import tiny_world


def write_model(place: Path) -> Path:
    """Write a model of popular items into a folder and return it."""
    world = tiny_world()
    known = known_of(world, LeaveLast())
    chain = Chain(Popularity().fit(known.history), Identity(), 10, world.items, known)
    folder.write(chain, place, {"name": "tiny"}, {"data_hash": "0123"})
    return place


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model."""
    return write_model(tmp_path_factory.mktemp("run") / "model")


@pytest.fixture(scope="session")
def model(model_folder: Path) -> Model:
    """Return that model."""
    return Model.of(model_folder)


@dataclass(frozen=True)
class Answer:
    """What a client got.

    Attributes:
        status: The status.
        headers: The headers, in lower case.
        body: The body.
    """

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The value of the body."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The sentence of a refusal, which must be one."""
        assert list(self.json) == ["error"]
        assert "\n" not in self.json["error"]
        return str(self.json["error"])


async def ask_app(app: Any, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Ask an ASGI application and return its answer."""
    path, _, query = path.partition("?")
    sent: list[dict[str, Any]] = []
    given = {"host": "localhost", **({"content-type": "application/json"} if method == "POST" else {}), **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    names = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], names, b"".join(message.get("body", b"") for message in sent[1:]))


Ask = Callable[..., Answer]


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Return a function that asks an application: ``ask(app, path, body=None, method=…, **headers)``."""

    def ask(app: Any, path: str, body: Any = None, method: str = "", **headers: str) -> Answer:
        method = method or ("GET" if body is None else "POST")
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(ask_app(app, method, path, content, given))

    return ask


@pytest.fixture(scope="session")
def app(model: Model) -> Any:
    """Return the application of the model, with counters of its own."""
    return application(Answers(model, "tiny", Limits(users=5, k=12, rows=20)), Counters.alone(), hosts=LOCAL)


Connect = Callable[..., bytes]


@pytest.fixture(scope="session")
def connect(model: Model) -> Iterator[Connect]:
    """Return a function that sends bytes to a server and returns all that it answers until it closes.

    With ``end=True`` it says behind them that no more will come.
    """
    limits = Limits(seconds=1.0, head_seconds=0.5, idle_seconds=0.5, rest_seconds=1.5, body=100_000)
    answers = Answers(model, "tiny", limits)
    answers.warm_up()
    ready, listener = threading.Event(), socket.create_server(("127.0.0.1", 0))
    app = application(answers, Counters.alone(), hosts=LOCAL)
    server = Server.of(app, limits, listener, ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
    thread.start()
    address = listener.getsockname()
    assert ready.wait(PATIENCE)

    def connect(sent: bytes, *, end: bool = False) -> bytes:
        with socket.create_connection(address, timeout=PATIENCE) as client:
            client.sendall(sent)
            if end:
                client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(65536), b""))

    yield connect
    server.should_exit = True
    thread.join()

"""An endpoint on this machine whose answers a test decides, and worlds with texts."""

from __future__ import annotations

import json
import re
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recx_llm import endpoint
from recx_llm.ranker import Llm

from recx.plugin import Fold, Interactions, RankedLists
from recx.testing import last_out, some_candidates, tiny_world

CANDIDATE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def by_text(prompt: str) -> str:
    """Order candidates by their texts, or grade one by the digit that its text begins with."""
    found = CANDIDATE.findall(prompt)
    if not found:
        return re.search(r"^Candidate:\n\D*(\d)", prompt, re.MULTILINE)[1]  # type: ignore[index]
    return json.dumps([int(number) for number, _ in sorted(found, key=lambda pair: pair[1])])


@dataclass
class Reply:
    """A response: its status, its body (None: a completion of ``text``), its headers, the bytes that are cut off.

    Attributes:
        wait: Seconds before it.
        drip: Seconds after each of its bytes.
    """

    text: str = ""
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    usage: Any = True
    finish: str = "stop"
    wait: float = 0.0
    drip: float = 0.0


class Server(ThreadingHTTPServer):
    """An endpoint.

    Attributes:
        reply: Returns the reply to a prompt, or its text.
        asked: The bodies of all calls, in order.
        sent: The headers of all calls.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply: Callable[[str], str | Reply] = by_text
        self.asked: list[dict[str, Any]] = []
        self.sent: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have left."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.paths.append(self.path)
        self.server.asked.append(body)
        self.server.sent.append(dict(self.headers.items()))
        [message] = body["messages"]
        made = self.server.reply(message["content"])
        reply = made if isinstance(made, Reply) else Reply(made)
        self.server.closing.wait(reply.wait)
        usage = {"prompt_tokens": 100, "completion_tokens": 10} if reply.usage is True else reply.usage
        choice = {"message": {"role": "assistant", "content": reply.text}, "finish_reason": reply.finish}
        content = reply.body if reply.body is not None else json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        for part in [content[: len(content) - reply.cut]] if not reply.drip else [bytes([one]) for one in content]:
            self.wfile.write(part)
            self.server.closing.wait(reply.drip)
        self.close_connection = bool(reply.cut)

    def log_message(self, *args: Any) -> None:
        """Write nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.closing.set()
    made.shutdown()
    thread.join()
    made.server_close()


Call = Callable[..., int]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a function that runs a command in a folder of its own and returns its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # which a run sets: restored afterwards

    def run(*words: str) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["recx", *words])
            patch.setattr(sys, "path", [*sys.path])  # to which a command adds the root of a project
            with pytest.raises(SystemExit) as end:
                runpy.run_module("recx", run_name="__main__")
        return int(end.value.code or 0)

    return run


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait long between attempts."""
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.001)


@pytest.fixture
def world() -> Callable[..., Interactions]:
    return told_world


def told_world(times: bool = True, queries: bool = True) -> Interactions:
    """Return the tiny world with texts: those of items begin with a digit; the last user and item have none."""
    made = tiny_world(times=times)
    rng = np.random.default_rng(0)
    texts = np.array([f"{digit} item {n}" for n, digit in enumerate(rng.integers(0, 10, made.n_items))], dtype=object)
    texts[-1] = ""
    items = replace(made.items, table={**made.items.table, "text": texts})
    if not queries:
        return replace(made, items=items)
    asks = np.array([f"task of user {n}" for n in range(made.n_users)], dtype=object)
    asks[-1] = ""
    return replace(made, items=items, users=replace(made.users, table={**made.users.table, "text": asks}))


def llm(server: Server, **settings: Any) -> Llm:
    return Llm(server.url, "tiny", **settings)


def ranked(ranker: Llm, fold: Fold | None = None) -> tuple[RankedLists, RankedLists]:
    """Return the candidates of the tiny world and what became of them."""
    fold = fold or last_out(told_world())
    candidates = some_candidates(fold)
    return candidates, ranker.rank(candidates, fold.history, fold.requests)


def texts(lists: RankedLists, world: Interactions | None = None) -> list[list[str]]:
    """Return the texts of the items of each list, in their order."""
    table = (world or told_world()).items.table["text"]
    return [
        [str(table[item]) for item in lists.item[a:b]] for a, b in zip(lists.indptr, lists.indptr[1:], strict=False)
    ]


def no_blank() -> Interactions:
    made = told_world()
    made.items.table["text"][-1] = "5 item"
    return made


def one_list(fold: Fold, length: int) -> tuple[RankedLists, Any]:
    candidates = some_candidates(fold)
    one = np.flatnonzero(candidates.lengths >= length)[:1]
    return candidates.take(one).top(length), fold.requests[one]

"""Bytes that a client may send to a real server, and how long it may take."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

Connect = Callable[..., bytes]
HEAD = b"POST /recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"users":["u05"],"k":1}'
GOOD = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
CLOSE = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(received: bytes) -> list[tuple[int, object]]:
    """Return the status and the JSON of each answer in what was received."""
    found = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        lines = head.decode().lower().splitlines()
        [length] = [int(line.split(":")[1]) for line in lines if line.startswith("content-length")]
        assert "application/json" in head.decode()
        found.append((int(lines[0].split()[1]), json.loads(rest[:length])))
        received = rest[length:]
    return found


def statuses(received: bytes) -> list[int]:
    return [status for status, _ in answers(received)]


@pytest.fixture(autouse=True)
def _alive(connect: Connect) -> object:
    yield
    assert statuses(connect(CLOSE)) == [200]


def test_several_requests_at_once_are_answered_in_order(connect: Connect) -> None:
    received = answers(connect(GOOD * 5 + GOOD.replace(b'"k":1', b'"k":0') + GOOD + CLOSE))
    assert [status for status, _ in received] == [200] * 5 + [422, 200, 200]
    assert received[-1][1] == {"status": "ok"}


def test_chunks(connect: Connect) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    assert statuses(connect(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + CLOSE)) == [200, 200]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",  # TLS
        b"GET /health\r\n\r\n",
        b"GET  /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",  # no Host
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET /h\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X%d: 1\r\n" % n for n in range(20_000)) + b"\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456",
        HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcdefgh\r\n",
    ],
)
def test_what_is_not_http(connect: Connect, sent: bytes) -> None:
    [(status, answer)] = answers(connect(sent))
    assert status in (400, 431)
    assert isinstance(answer, dict)
    assert list(answer) == ["error"]


def test_a_long_header(connect: Connect) -> None:
    received = connect(
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"a" * 60_000 + b"\r\n\r\n"
    )
    assert statuses(received)[0] in (400, 431)


@pytest.mark.parametrize("close", [b"", b"Connection: close\r\n"])
def test_100_megabytes_are_refused_to_a_client_that_is_still_sending(connect: Connect, close: bytes) -> None:
    large = b" " * 100_000_000
    [(status, _)] = answers(connect(HEAD + close + b"Content-Length: 100000000\r\n\r\n" + large))
    assert status == 413
    chunk = b"F4240\r\n" + large[:1_000_000] + b"\r\n"
    [(status, _)] = answers(connect(HEAD + close + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 100 + b"0\r\n\r\n"))
    assert status == 413


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", []),
        (b"GET /heal", []),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", []),
        (HEAD + b"Content-Length: 50\r\n\r\n{", [408]),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", [408]),
        (HEAD + b"Content-Length: 50\r\nExpect: 100-continue\r\n\r\n", [100]),
        (HEAD + b"Content-Length: 100000000\r\n\r\n{", [413]),
        (CLOSE.replace(b"Connection: close\r\n", b""), [200]),
    ],
)
def test_a_client_that_stops_in_the_middle_is_cut_off(connect: Connect, sent: bytes, expected: list[int]) -> None:
    received = connect(sent)
    if expected == [100]:
        assert received.startswith(b"HTTP/1.1 100")
    else:
        assert statuses(received) == expected


@pytest.mark.parametrize("path", [b"/recommend", b"/rank", b"/similar"])
@pytest.mark.parametrize("rest", [b"Content-Length: 50\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"])
def test_a_body_that_is_cut_off_is_refused_at_once(connect: Connect, path: bytes, rest: bytes) -> None:
    [(status, answer)] = answers(connect(HEAD.replace(b"/recommend", path) + rest, end=True))
    assert status == 400
    assert answer == {
        "error": "the connection was closed for sending before the request was complete: send all of its body"
    }


@pytest.mark.parametrize("sent", [GOOD, GOOD * 3, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_whole_requests_are_answered_though_nothing_follows(connect: Connect, sent: bytes) -> None:
    assert statuses(connect(sent, end=True)) == [200] * sent.count(b"HTTP/1.1")


@pytest.mark.parametrize("sent", [b"", b"GET /heal", HEAD])
def test_a_client_that_leaves_before_its_headers_end_gets_nothing(connect: Connect, sent: bytes) -> None:
    assert connect(sent, end=True) == b""


def test_a_body_without_end_is_refused_by_time_or_size(connect: Connect) -> None:
    chunks = b"1\r\n \r\n" * 100 + (b"2710\r\n" + b" " * 10_000 + b"\r\n") * 11
    [(status, _)] = answers(connect(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks))
    assert status == 413

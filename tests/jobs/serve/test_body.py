"""Bodies and queries that could be understood in two ways, or that are no JSON, are refused in a sentence."""

from __future__ import annotations

import pytest

from recx.jobs.serve.body import check_query, parse
from recx.jobs.serve.refusal import Refused


def test_plain_json() -> None:
    assert parse('{"a": [1, -2.5, null, true, "ü😀\\ud83d\\ude00"]}'.encode()) == {"a": [1, -2.5, None, True, "ü😀😀"]}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is empty"),
        (b"{users: 1}", r"the body is not JSON: .* \(line 1, column 2\)"),
        (b'{"a": 1} x', "the body is not JSON: Extra data"),
        (b'\xef\xbb\xbf{"a": 1}', "the body is not JSON: .*BOM"),
        (b'{"a": "\xff"}', "the body is not UTF-8: byte 8"),
        (b'{"a": "\xed\xa0\x80"}', "the body is not UTF-8: byte 8"),
        (b'{"a": "\\ud800"}', "holds half a sign"),
        (b'{"\\udc00": 1}', "holds half a sign"),
        (b'{"a": NaN}', "the body holds NaN, which is not JSON"),
        (b"[Infinity]", "the body holds Infinity"),
        (b"[-Infinity]", "the body holds -Infinity"),
        (b'{"a": -1e999}', "the body holds -1e999, which is beyond 64-bit numbers"),
        (b"9" * 5000, "a number in the body has too many digits"),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "the key 'b' twice"),
        (b"[" * 10_000 + b"]" * 10_000, "nested too deeply"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested too deeply"),
        (b"[" * 900_000, "nested too deeply"),
    ],
)
def test_refused(body: bytes, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(body)
    assert refused.value.status_code == 400
    with pytest.raises(Refused, match=sentence):
        parse(body)


def test_a_million_repeated_keys_take_no_time() -> None:
    body = b"{" + b",".join(b'"%d":1' % (n // 2) for n in range(120_000)) + b"}"
    with pytest.raises(Refused, match="twice in one place"):
        parse(body)


def test_queries() -> None:
    check_query(b"", ())
    check_query(b"users=1&users=2&k=3&at=", ("users",))
    with pytest.raises(Refused, match="'k' more than once"):
        check_query(b"k=1&users=1&k=2", ("users",))
    with pytest.raises(Refused, match="not UTF-8"):
        check_query(b"users=%ff", ("users",))
    with pytest.raises(Refused, match="not UTF-8"):
        check_query("users=é".encode(), ("users",))

"""What is printed controls no terminal, and no console is too poor for it."""

from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.system.screen import echo, one_line, tolerant, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcode, 用户, 😀", "plain, ünïcode, 用户, 😀"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),  # one sign that does what ESC [ does
        ("over\rwritten\x08\x0b", "over written\\x08 "),
        ("abc\u202edcba", r"abc\u202edcba"),  # turns the direction of writing
        ("\udce5", r"\udce5"),  # a byte of a path that is not UTF-8
        ("two\nlines\tand", "two\nlines\tand"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\u00a0b\u3000c", "a b c"),
    ],
)
def test_control_characters_become_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert one_line(text) == shown.replace("\n", " ").replace("\t", " ")


@given(st.text())
def test_nothing_is_left_that_controls_a_terminal(text: str) -> None:
    assert all(sign.isprintable() or sign in "\n\t\u200c\u200d" for sign in visible(text))
    assert all(sign.isprintable() or sign in "\u200c\u200d" for sign in one_line(text))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "gbk", "utf-8"])
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_every_console_can_show_it(encoding: str, errors: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding, errors)
    echo("用户 – 3 × 2 … \udce5 😀", to=stream, flush=True)
    assert stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


def test_signs_of_its_own_are_spelled_on_an_ascii_console(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    echo("• 3 × 2 … 1–2: 用é")
    stream.flush()
    assert stream.buffer.getvalue() == rb"* 3 x 2 ... 1-2: \u7528\xe9" + b"\n"  # type: ignore[attr-defined]


def test_json_stays_json() -> None:
    stream = io.StringIO()
    tolerant(stream)  # which has no encoding to care for
    values = ["\x7f\x1b\x9b用😀"]
    echo(json.dumps(values), to=stream)
    assert json.loads(stream.getvalue()) == values
    assert stream.getvalue().isascii()

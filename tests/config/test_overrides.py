"""What people type: one text or a list, and values that Hydra reads only in quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.config.hydra_internals import is_swept, parse
from recx.config.overrides import listed, quoted, readable
from recx.core.errors import InputError

READ = {
    "dataset.delimiter=;": ";",
    "dataset.delimiter=|": "|",
    "dataset.path=views (1).csv": "views (1).csv",
    "dataset.path=täglich.csv": "täglich.csv",
    "dataset.path=/data/日本/a.csv": "/data/日本/a.csv",
    "dataset.path=a;b(c).csv": "a;b(c).csv",
    "dataset.path=it's (1).csv": "it's (1).csv",
    "dataset.path=c:\\data\\(1)\\": "c:\\data\\(1)\\",
    "++dataset.path=a*b?.csv": "a*b?.csv",
    "dataset.path=a=b.csv": "a=b.csv",
    "dataset.path=plain.csv": "plain.csv",
    "dataset.path='in quotes (1).csv'": "in quotes (1).csv",
    "dataset.delimiter=\\t": "\\t",
    "dataset.delimiter=\t": "\t",
    "dataset.delimiter= ": " ",
    "dataset.delimiter=": "",
}


@pytest.mark.parametrize("override", READ)
def test_one_value_that_the_shell_passed_is_read_as_it_is(override: str) -> None:
    [word] = readable([override])
    [parsed] = parse([word])
    assert parsed.value() == READ[override]
    assert word.partition("=")[0] == override.partition("=")[0]


@pytest.mark.parametrize(
    "override",
    [
        *("a=1,2", "a=[1,2", "a={x:1", "a=views (1),b.csv", "a=${seed", "a='open", "~feature.age", "a.b=range(1,5,2)"),
        *("a", "a=(1)\n,b", "a= [views (1)]", "a=glob(a (1))", "a=choice(ä)", " a=(1)"),
    ],
)
def test_what_may_be_meant_for_hydra_is_left_alone(override: str) -> None:
    assert readable([override]) == [override]


def test_a_sweep_over_plain_values_remains_one() -> None:
    [parsed] = parse(readable(["a=x.csv,y.csv"]))
    assert is_swept(parsed)


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="$"), min_size=1))
def test_a_quoted_text_is_read_back(text: str) -> None:
    [parsed] = parse([quoted(f"key={text}")])
    assert parsed.value() == text


def test_one_text_is_split_like_a_command_line() -> None:
    assert listed("+experiment=news 'dataset.path=a b.csv' seed=1") == [
        "+experiment=news",
        "dataset.path=a b.csv",
        "seed=1",
    ]
    assert listed(("a=1", "b=2")) == ["a=1", "b=2"]
    assert listed(r"a=c:\data\a.csv b=\t c='\\srv\x y' d=#1") == [r"a=c:\data\a.csv", r"b=\t", r"c=\\srv\x y", "d=#1"]
    with pytest.raises(InputError, match="close every quote"):
        listed("a='b")

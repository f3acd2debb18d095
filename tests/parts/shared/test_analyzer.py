"""The analyzer, by hand for each script, and by slow loops."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.parts.shared.analyzer import Analyzer, names_split


def of(text: str, ngrams: int = 2, split_names: bool = True) -> str:
    return " ".join(Analyzer(ngrams, split_names)(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        (" \n!? 🙂", ""),
        ("Don't panic, e-mail 42", "don t panic e mail 42"),
        ("ÉCOLE naïve Straße STRASSE", "école naïve strasse strasse"),
        ("cafe\u0301 café", "café café"),
        ("İstanbul ISTANBUL", "istanbul istanbul"),
        ("ＡＢＣ１２３ ﬁne Ⅷ co\u00adoperate", "abc123 fine viii cooperate"),
        ("Москва МОСКВА", "москва москва"),
        ("한국어 단어", "한국어 단어"),  # Hangul has spaces
        ("हिन्दी में शब्द", "हिन्दी में शब्द"),  # marks belong to their letters
        ("مَرْحَبًا ١٢٣", "مَرْحَبًا 123"),
        ("天", "天"),
        ("查天气。", "查 查天 天 天气 气"),
        ("葛\U000e0100城", "葛 葛城 城"),  # a variation selector
        ("ｶﾅ", "カ カナ ナ"),
        ("ガード", "ガ ガー ー ード ド"),
        ("Tシャツを3枚", "t シ シャ ャ ャツ ツ ツを を 3 枚"),
        ("ไทย", "ไ ไท ท ทย ย"),
        ("ที่นี่", "ที่ ที่นี่ นี่"),  # a letter with its marks is one character
        ("ພາສາ", "ພ ພາ າ າສ ສ ສາ າ"),
        ("ខ្មែរ", "ខ្ ខ្មែ មែ មែរ រ"),
        ("မြန်", "မြ မြန် န်"),
        ("\U00020000\U00020001", "\U00020000 \U00020000\U00020001 \U00020001"),
        ("第3章 and 天气app", "第 3 章 and 天 天气 气 app"),
    ],
)
def test_words_of_each_script(text: str, words: str) -> None:
    assert of(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("TaxCalculator", "tax calculator taxcalculator"),
        ("use sendSMS_to", "use send sms to sendsms_to"),
        ("HTTPServer", "http server httpserver"),
        ("snake_case", "snake case snake_case"),
        ("a__b_", "a b a__b_"),
        ("__init__ ___ _x", "__init__ ___ _x"),
        ("NASA McDonald", "nasa mc donald mcdonald"),
        ("naïve_bayes отправить_письмо", "naïve bayes naïve_bayes отправить письмо отправить_письмо"),
        ("用sendSMS吧", "用 send sms sendsms 吧"),
        ("获取_天气", "获 获取 取 天 天气 气"),
    ],
)
def test_the_parts_of_names_are_words_beside_the_whole(text: str, words: str) -> None:
    assert of(text) == words


def test_names_stay_whole_on_request() -> None:
    assert of("use sendSMS_to 天气", split_names=False) == "use sendsms_to 天 天气 气"
    assert names_split("use sendSMS_to, a snake_case") == "use send SMS to, a snake case"


def test_up_to_ngrams_characters_make_a_word() -> None:
    assert of("查天气", 1) == "查 天 气"
    assert of("查天气", 3) == "查 查天 查天气 天 天气 气"
    with pytest.raises(InputError, match=r"analyzer\.ngrams=0"):
        Analyzer(0)


@given(st.text("abcxyz019 .,-'!\n"), st.booleans())
def test_plain_english_is_read_as_ever(text: str, split_names: bool) -> None:
    assert Analyzer(split_names=split_names)(text) == re.findall(r"(?u)\b\w+\b", text.lower())


@given(st.text("天气学生ไย木 。a"), st.integers(1, 4))
def test_runs_without_spaces_are_what_a_loop_finds(text: str, n: int) -> None:
    expected = []
    for run in re.findall(r"a+|[^a 。]+", text):
        if run[0] == "a":
            expected.append(run)
        else:
            expected += [run[at : at + size] for at in range(len(run)) for size in range(1, min(n, len(run) - at) + 1)]
    assert sorted(Analyzer(n)(text)) == sorted(expected)


@given(st.text())
def test_words_of_any_text_are_normal_and_found_again(text: str) -> None:
    analyzer = Analyzer(1, split_names=False)
    words = analyzer(text)
    assert all(word and not re.search(r"\s", word) for word in words)
    assert analyzer(" ".join(words)) == words


@pytest.mark.parametrize(
    "text", ["_" * 200_000 + "天", "a_" * 100_000, "ก" + "\u0e49" * 200_000, "aB" * 100_000 + " 天"]
)
def test_a_long_text_is_no_obstacle(text: str) -> None:
    assert Analyzer()(text)


def test_an_analyzer_may_be_saved() -> None:
    assert pickle.loads(pickle.dumps(Analyzer(3)))("天气预") == Analyzer(3)("天气预")

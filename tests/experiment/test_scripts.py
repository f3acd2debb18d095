"""The scripts of texts, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.types import Interactions
from recx.experiment.doctor import examine
from recx.experiment.scripts import MOST, SCRIPTS, script, scripts
from recx.parts.split.by_user import ByUser
from recx.testing import tiny_world


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("42 🙂 !", ""),
        ("Hello", "latin"),
        ("naïve café 42", "latin"),
        ("天气 app", "latin"),  # three letters against two
        ("查天气 ai", "han"),
        ("これは本です", "kana"),
        ("ราคา", "thai"),
        ("날씨", "hangul"),
        ("Москва", "cyrillic"),
        ("हिन्दी", "devanagari"),
    ],
)
def test_the_script_is_that_of_most_letters(text: str, expected: str) -> None:
    assert script(text) == expected


def told(users: list[str], items: list[str] | None = None) -> Interactions:
    """Return a world whose users and items have these texts, again and again."""
    made = tiny_world()

    def table(texts: list[str], n: int) -> dict[str, np.ndarray]:
        return {"text": np.resize(np.array(texts, dtype=object), n)}

    with_users = replace(made, users=replace(made.users, table=table(users, len(made.users))))
    if items is None:
        return with_users
    return replace(with_users, items=replace(made.items, table=table(items, len(made.items))))


def test_the_doctor_says_which_scripts_there_are_and_shows_the_words_of_a_text() -> None:
    world = told(["查天气", "sendSMS now", "🙂", ""])
    n = len(world.users)
    share = {place: len(range(place, n, 4)) for place in range(4)}
    findings = {one.name: one for one in examine(world, ByUser().split(world, "test"), [5])}
    assert findings["texts_in_han"].count == share[0]
    assert findings["texts_in_latin"].count == share[1]
    assert findings["texts_in_han"].of == n
    assert findings["texts_in_han"].verdict == "fine"
    assert findings["texts_in_han"].why == (
        '"查天气" is read as 查 | 查天 | 天 | 天气 | 气 (ngrams=2, split_names=true, the defaults)'
    )
    assert '"sendSMS now" is read as send | sms | sendsms | now (' in findings["texts_in_latin"].why
    assert (findings["texts_without_words"].count, findings["texts_without_words"].verdict) == (
        share[2] + share[3],
        "look",
    )


def test_data_without_texts_has_no_scripts() -> None:
    world = tiny_world()
    assert scripts(replace(world, users=replace(world.users, table={}), items=replace(world.items, table={}))) is None


def test_rare_scripts_are_counted_together_and_long_texts_cut() -> None:
    texts = ["天", "あ", "ก", "날", "Я", "α", "ש", "a\x1b[31m " + "b " * 100]
    world = told(texts, texts)
    found = scripts(world)
    assert found is not None
    assert len(found.counts) == SCRIPTS + 1
    assert sum(found.counts.values()) == found.of == len(world.users) + len(world.items) <= MOST
    latin = scripts(told([texts[-1]]))
    assert latin is not None
    assert "\x1b" not in latin.examples["latin"]
    assert latin.examples["latin"].count("b") < 40
    assert "..." in latin.examples["latin"]

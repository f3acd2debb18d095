"""Prompts show the query, earlier events and candidates, and may be templates of one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recx.plugin import InputError
from recx.testing import last_out, some_candidates

from .conftest import Server, llm, ranked, told_world


def test_prompts_show_the_query_and_the_items_of_earlier_events(server: Server) -> None:
    fold = last_out(told_world())
    ranked(llm(server, history=2, concurrency=1), fold)
    candidates = some_candidates(fold)
    first = int(np.flatnonzero(candidates.lengths > 1)[0])
    user = int(candidates.user[first])
    rows = slice(int(fold.history.indptr[user]), int(fold.history.indptr[user + 1]))
    known = [str(fold.history.items.table["text"][item]) for item in fold.history.item[rows]][-2:]
    prompt = server.asked[0]["messages"][0]["content"]
    assert f"task of user {user}\n" in prompt
    assert "".join(f"- {text}\n" for text in known) in prompt


def test_a_prompt_of_ones_own(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("{{ query }}?{% for one in items %}\n[{{ loop.index }}] {{ one }}{% endfor %}")
    _, after = ranked(llm(server, prompt=str(file)))
    assert server.asked[0]["messages"][0]["content"].startswith("task of user ")
    assert after.notes["llm_requests_broken"] == 0


def test_a_text_is_no_template_and_is_shortened(server: Server) -> None:
    world = told_world()
    world.users.table["text"][:] = "{{ 7 * 7 }}\nand [1] " + "many words " * 50
    ranked(llm(server, max_words=5), last_out(world))
    assert "\n{{ 7 * 7 }}\n" in server.asked[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ query }", "line 1: unexpected '}': correct the template"),
        ("{{ query }} {{ itens }}", "{{ itens }} is unknown: did you mean 'items'?"),
        ("{{ query }}", "it does not use items, what is to be judged: add {{ items }}"),
        ("{{ items }}", "it shows neither query nor history: add {{ query }}"),
        ("{{ query }} {{ items.pop() }}", "fails ("),
        ("{{ query }} {{ items.__class__.__mro__ }}", "fails ("),
        ("{% include '/etc/passwd' %} {{ query }} {{ items }}", "fails ("),
    ],
)
def test_a_prompt_that_is_none_is_reported(server: Server, tmp_path: Path, template: str, said: str) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(template)
    with pytest.raises(InputError) as raised:
        ranked(llm(server, prompt=str(file)))
    assert str(raised.value).startswith(f"ranker.prompt={file}")
    assert said in str(raised.value)
    assert server.asked == []

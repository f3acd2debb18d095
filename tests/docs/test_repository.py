"""Links of pages become links of the site: to pages that are copies, to titles, and to no file that it has not."""

from __future__ import annotations

import pytest
from repository import linked, titled


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("[a](../how-to/frames.md)", "[a](../how-to/frames.md)"),
        ("[a](../../CHANGELOG.md#x)", "[a](../changelog.md#x)"),
        ("[a](../../plugins/recx-text/README.md)", "[a](../plugins/recx-text.md)"),
        ("[`b`](../../recx/plugin.py)", "`b`"),
        ("[b](../../recx/plugin.py)", "`b`"),
        ("![a](../pictures/a.png)", "![a](../pictures/a.png)"),
        ("[a](https://a.org/b.md)", "[a](https://a.org/b.md)"),
        ("[a](#x)", "[a](#x)"),
        ("```\n[a](../../LICENSE)\n```", "```\n[a](../../LICENSE)\n```"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_is_a_name(text: str, there: str) -> None:
    assert linked(text, "docs/start/install.md", "docs/start/install.md") == there


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("see [frames.md](../how-to/frames.md)", "see [](../how-to/frames.md)"),
        ("[docs/how-to/frames.md](frames.md#x)", "[](frames.md#x)"),
        ("[`frames.md`](frames.md)", "[](frames.md)"),
        ("[frames](frames.md)", "[frames](frames.md)"),
        ("[frames.md](data-frames.md)", "[frames.md](data-frames.md)"),
        ("![frames.md](frames.md)", "![frames.md](frames.md)"),
        ("```\n[a.md](a.md)\n```", "```\n[a.md](a.md)\n```"),
    ],
)
def test_a_link_called_by_a_file_gets_the_title_of_the_page(text: str, there: str) -> None:
    assert titled(text) == there

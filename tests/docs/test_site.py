"""The site in docs/site, which ``make docs`` builds: every link leads somewhere, nothing comes from another host."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from built_site import Page, Site, outside_of_style

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def site() -> Site:
    if not (DOCS / "site" / "index.html").is_file():
        pytest.skip("there is no site: make docs")
    return Site(DOCS / "site")


def made(folder: Path, **files: str) -> Site:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return Site(folder)


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://a.org/b.js"></script>',
        '<link rel="stylesheet" href="//a.org/b.css">',
        '<link rel="shortcut icon" href="https://a.org/b.ico"/>',
        '<link rel="preconnect" href="https://a.org">',
        '<img alt="" src="HTTPS://a.org/b.png">',
        '<img alt="" src="b.png" srcset="https://a.org/b.png 2x">',
        '<iframe src=" https://a.org"></iframe>',
        '<object data="https://a.org/b.svg"></object>',
        '<svg><image xlink:href="https://a.org/b.png"/></svg>',
        "<style>@font-face { src: local('B'), url(https://a.org/b.woff) }</style>",
        '<p style="background: url(//a.org/b.png)">b</p>',
    ],
)
def test_what_a_page_loads_from_another_host_is_found(text: str, tmp_path: Path) -> None:
    [(file, address)] = made(tmp_path, a_html=f"<p>before</p>{text}<p>after</p>").loaded_from_outside()
    assert file == "a.html"
    assert "a.org" in address
    [(file, _)] = made(tmp_path, a_html="", b_svg=f"<svg>{text}</svg>").loaded_from_outside()
    assert file == "b.svg"


@pytest.mark.parametrize("text", ["a { background: url( 'http://a.org/b' ) }", '@import "//a.org/b.css";'])
def test_what_a_style_sheet_loads_from_another_host_is_found(text: str, tmp_path: Path) -> None:
    assert outside_of_style(text)
    [(file, _)] = made(tmp_path, a_css=text).loaded_from_outside()
    assert file == "a.css"


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://a.org">b</a>',
        '<link rel="canonical" href="https://a.org/b.html">',
        '<svg xmlns="http://www.w3.org/2000/svg"><path d=""/></svg>',
        "<style>a { background: url(b.png) } /* see https://a.org */</style>",
        "<p>https://a.org</p><script>// from https://a.org</script>",
        "<style>a {}</style><p>url(https://a.org)</p>",
    ],
)
def test_what_is_only_linked_or_named_is_not_loaded(text: str, tmp_path: Path) -> None:
    assert made(tmp_path, a_html=text).loaded_from_outside() == []


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        ('<a href="b.html">b</a>', False),
        ('<a href="b.html?x=1#there">b</a>', False),
        ('<a href="#here">b</a><i id="here"></i>', False),
        ('<a href="#">b</a>', False),
        ('<a href="c%20d.html">b</a>', False),
        ('<a href="https://a.org/none.html#no">b</a>', False),
        ('<a href="mailto:a@a.org">b</a>', False),
        ('<a href="b.html#nowhere">b</a>', True),
        ('<a href="#nowhere">b</a>', True),
        ('<a href="none.html">b</a>', True),
        ('<a href="../outside.html">b</a>', True),
        ('<a href="/b.html">b</a>', True),
        ('<img alt="" src="none.png">', True),
        ('<link rel="stylesheet" href="none.css">', True),
    ],
)
def test_a_dead_link_is_found(link: str, dead: bool, tmp_path: Path) -> None:
    (tmp_path / "outside.html").write_text("", encoding="utf-8")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "c d.html").write_text("", encoding="utf-8")
    site = made(tmp_path / "site", a_html=link, b_html='<p id="there">b</p>')
    assert [file for file, _ in site.dead()] == ["a.html"] * dead


@pytest.mark.parametrize("picture", sorted((DOCS / "pictures").glob("*.svg")), ids=lambda picture: picture.name)
def test_a_picture_brings_nothing_from_another_host(picture: Path) -> None:
    assert Page(picture.read_text(encoding="utf-8")).from_outside == []


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Site) -> None:
    assert len(site.pages) > 40
    assert site.dead() == []


@pytest.mark.slow
def test_the_site_loads_nothing_from_another_host(site: Site) -> None:
    assert site.loaded_from_outside() == []


@pytest.mark.slow
def test_links_to_other_hosts_are_whole(site: Site) -> None:
    """They are not followed here: this prints them (``pytest -s``) for whoever wants to."""
    outside = site.outside()
    for address, pages in sorted(outside.items()):
        print(f"{address}  {' '.join(pages)}")
    assert outside
    assert [one for one in outside if "." not in urlsplit(one).netloc] == []

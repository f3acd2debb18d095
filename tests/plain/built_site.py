"""What a built site links to and loads, read by Python's own parser of HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_BY_SOURCE = ("audio", "embed", "iframe", "img", "input", "script", "source", "track", "video")
LOADS = {
    **dict.fromkeys(_BY_SOURCE, ("src", "srcset", "poster")),
    **dict.fromkeys(("feimage", "image", "use"), ("href", "xlink:href")),
    "object": ("data",),
}
"""Tag -> the attributes whose address a browser loads by itself."""
LOADED_RELATIONS = {
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "manifest",
}
OUTSIDE = re.compile(r"(?i)(?:https?:)?//\S")
IN_STYLES = re.compile(r"""(?i)url\(\s*["']?((?:https?:)?//[^"')]*)|@import\s+["']((?:https?:)?//[^"']*)""")


@dataclass
class Page(HTMLParser):
    """A page, or a picture in SVG: its ids, the addresses it links to, and those it loads."""

    text: str
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.in_style = False
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.in_style = tag == "style"
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        self.styles += [values["style"]] if "style" in values else []
        loaded = [values[name] for name in LOADS.get(tag, ()) if name in values]
        if tag == "link":
            relations = set(values.get("rel", "").lower().split())
            (loaded if relations & LOADED_RELATIONS else self.links).append(values.get("href", ""))
        elif "href" in values and not loaded:
            self.links.append(values["href"])
        self.loads += loaded

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.in_style = False

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.styles.append(data)

    @property
    def from_outside(self) -> list[str]:
        """The addresses on other hosts that a browser would load to show the page."""
        return [one for one in self.loads if OUTSIDE.match(one.strip())] + [
            one for style in self.styles for one in outside_of_style(style)
        ]


def outside_of_style(text: str) -> list[str]:
    """Return the addresses on other hosts that a style sheet loads."""
    return [first or second for first, second in IN_STYLES.findall(text)]


@dataclass(frozen=True)
class Site:
    """A folder of pages."""

    folder: Path

    @cached_property
    def pages(self) -> dict[Path, Page]:
        """File -> what it has."""
        return {file: Page(file.read_text(encoding="utf-8")) for file in sorted(self.folder.rglob("*.html"))}

    def loaded_from_outside(self) -> list[tuple[str, str]]:
        """Return (file, address) for all that pages, style sheets and pictures load from other hosts."""
        found = {file: page.from_outside for file, page in self.pages.items()}
        for file in sorted(self.folder.rglob("*.svg")):
            found[file] = Page(file.read_text(encoding="utf-8")).from_outside
        for file in sorted(self.folder.rglob("*.css")):
            found[file] = outside_of_style(file.read_text(encoding="utf-8"))
        return [(str(file.relative_to(self.folder)), one) for file, some in found.items() for one in some]

    def dead(self) -> list[tuple[str, str]]:
        """Return (page, address) for each link, picture and the like that leads to nothing inside the site."""
        return [
            (str(file.relative_to(self.folder)), address)
            for file, page in self.pages.items()
            for address in dict.fromkeys((*page.links, *page.loads))
            if not urlsplit(address).scheme and not address.startswith("//") and not self._leads(file, address)
        ]

    def _leads(self, file: Path, address: str) -> bool:
        parts = urlsplit(address)
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if not target.is_file() or not target.is_relative_to(self.folder):
            return False
        anchor = unquote(parts.fragment)
        return not anchor or target not in self.pages or anchor in self.pages[target].ids

    def outside(self) -> dict[str, list[str]]:
        """Return address on another host -> the pages that link to it."""
        found: dict[str, list[str]] = {}
        for file, page in self.pages.items():
            for address in dict.fromkeys(page.links):
                if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
                    found.setdefault(address, []).append(str(file.relative_to(self.folder)))
        return found

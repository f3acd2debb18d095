"""The pieces that charts are made of: elements, words, a legend, a table of the numbers. All of it is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from rich.cells import cell_len, set_cell_size

WIDTH = 440.0
"""Units across a picture. A phone shows about 350 pixels, so that letters of 14 units stay above 10 pixels."""
LETTERS = 14
CELL = 7.6
"""About how wide a letter is, in units."""
N_STYLES = 6
DASHES = ("", "7 4", "2 3", "10 3 2 3", "4 2", "12 4")
MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",  # a disc
    "M-4-4H4V4H-4z",  # a square
    "M0-5L5 4H-5z",  # a triangle
    "M0-5.5L5.5 0L0 5.5L-5.5 0z",  # a diamond
    "M0 5L5-4H-5z",  # a triangle on its tip
    "M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5z",  # a cross
)
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(words: object) -> str:
    """Return words on one line, without the characters that no page may hold."""
    return " ".join(NOT_IN_XML.sub("\ufffd", str(words)).split())


def element(name: str, *inside: str, **attributes: object) -> Markup:
    """Return an element. ``_`` in an attribute's name becomes ``-``; what is inside is escaped unless it is markup."""
    # Not by Markup.format, which takes ten times as long, and a page has thousands of elements.
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{shown}>{joined(inside)}</{name}>")


def joined(pieces: Iterable[str]) -> Markup:
    """Return pieces one after the other, those that are not markup escaped."""
    return Markup("".join(piece if isinstance(piece, Markup) else escape(clean(piece)) for piece in pieces))


def text(
    x: float, y: float, words: str, *, anchor: str = "start", ink: str = "--ink", longest: int = 0, halo: bool = False
) -> Markup:
    """Return words at a place, cut where they take more than ``longest`` cells; the whole is then shown on pointing.

    ``halo``: the page's ground around the letters, so that lines behind them do not cross them.
    """
    words = clean(words)
    short = cut(words, longest) if longest else words
    inside = [short] if short == words else [element("title", words), short]
    around = {"stroke": "var(--ground, none)", "stroke_width": 4, "paint_order": "stroke"} if halo else {}
    return element("text", *inside, x=x, y=y, text_anchor=anchor, fill=f"var({ink})", **around)


def cut(words: str, longest: int) -> str:
    """Return words of at most ``longest`` cells (a Chinese character takes two)."""
    return words if cell_len(words) <= longest else f"{set_cell_size(words, max(longest - 1, 0)).rstrip()}…"


def width_of(words: str) -> float:
    """Return about how many units words take."""
    return CELL * cell_len(words)


def line(points: Sequence[tuple[float, float]], ink: str = "--line", **attributes: object) -> Markup:
    """Return a line through places."""
    path = "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)
    return element("path", d=path, fill="none", stroke=f"var({ink})", **attributes)


def accent(place: int) -> str:
    """Return the name of the colour of a series."""
    return f"--accent-{place % N_STYLES + 1}"


def mark(x: float, y: float, place: int, *, filled: bool = True, title: str | None = None) -> Markup:
    """Return the mark of a series: its shape tells it from the others without its colour."""
    colour = f"var({accent(place)})"
    return element(
        "path",
        *([] if title is None else [element("title", title)]),
        d=MARKS[place % N_STYLES],
        transform=f"translate({_value(x)} {_value(y)})",
        fill=colour if filled else "var(--ground, none)",
        stroke=colour,
        stroke_width=1.5,
    )


def legend(entries: Sequence[tuple[Markup, str]]) -> Markup:
    """Return a list of samples with their names, below the picture so that it wraps like text."""
    samples = (element("svg", one, width=32, height=14, viewBox="0 0 32 14", aria_hidden="true") for one, _ in entries)
    items = (element("li", sample, Markup(" "), name) for sample, (_, name) in zip(samples, entries, strict=True))
    return element("ul", *items, class_="legend")


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> Markup:
    """Return the numbers behind the picture of that title, folded away; the first cell of a row names it."""
    top = element("tr", *(element("th", name, scope="col") for name in head))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    whole = element("table", element("thead", top), element("tbody", *body))
    return element(
        "details",
        element("summary", "Numbers", Markup(" "), element("span", f"of the figure: {title}", class_="unseen")),
        element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=f"Numbers of: {title}"),
        *([element("p", note)] if note else []),
    )


@dataclass(frozen=True)
class Chart:
    """A picture with its title, as it stands in a page; ``recx.report.charts.figures`` makes a file of it.

    Attributes:
        title: What it shows.
        height: Its height in units; it is ``WIDTH`` units wide.
        drawn: The elements of the picture.
        samples: The legend: a sample and its name for every series.
        numbers: The table of the numbers behind the picture.
        about: What the picture shows, in words, for those who do not see it.
    """

    title: str
    height: float
    drawn: Sequence[Markup]
    samples: Sequence[tuple[Markup, str]] = ()
    numbers: str = ""
    about: str = ""

    def __html__(self) -> Markup:
        """Return the ``<figure>``: title, picture, legend, table."""
        picture = element(
            "svg",
            *self.drawn,
            role="img",
            aria_label=f"{self.title}. {self.about}" if self.about else self.title,
            viewBox=f"0 0 {_value(WIDTH)} {_value(self.height)}",
            width="100%",
            font_size=LETTERS,
        )
        after = [legend(self.samples)] if self.samples else []
        return element("figure", element("figcaption", self.title), picture, *after, self.numbers, class_="chart")


def no_data(title: str) -> Chart:
    """Return a chart that says that there is nothing to show."""
    return Chart(title, 60, [text(WIDTH / 2, 35, "no data", anchor="middle", ink="--muted")], about="No data.")


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else clean(value)

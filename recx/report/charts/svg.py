"""The pieces that charts are made of: elements, text, a legend, a table of the numbers. Everything is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from rich.cells import cell_len

from recx.report.terminal.formats import cut

WIDTH = 440.0
"""Units across a picture. A phone shows about 350 pixels, so that letters of 14 units stay above 10 pixels."""
LETTERS = 14
CELL = 8.5
"""Width of a letter in units: of wide fonts such as DejaVu Sans, so that no label is clipped."""
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


def clean(value: object) -> str:
    """Return text on one line, without the characters that XML forbids."""
    return " ".join(NOT_IN_XML.sub("\ufffd", str(value)).split())


def element(name: str, *inside: str, **attributes: object) -> Markup:
    """Return an element; everything inside is escaped unless it is markup.

    Args:
        name: Name of the element.
        *inside: Its content.
        **attributes: Its attributes; ``_`` in a name becomes ``-``, and None leaves an attribute out.
    """
    # Markup.format would take ten times as long, and a page has thousands of elements.
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    content = "".join(piece if isinstance(piece, Markup) else escape(clean(piece)) for piece in inside)
    return Markup(f"<{name}{shown}>{content}</{name}>")


def text(
    x: float, y: float, words: str, *, anchor: str = "start", ink: str = "--ink", longest: int = 0, halo: bool = False
) -> Markup:
    """Return a text.

    Args:
        x: Place of its anchor in units.
        y: Its baseline in units.
        words: What it says.
        anchor: "start", "middle" or "end".
        ink: The custom property of its colour.
        longest: Cells at most, 0 for no limit; a text that was cut is shown whole on hovering.
        halo: Whether the letters are surrounded by the page's background, so that no line crosses them.
    """
    words = clean(words)
    short = cut(words, longest) if longest else words
    inside = [short] if short == words else [element("title", words), short]
    around = {"stroke": "var(--ground, none)", "stroke_width": 4, "paint_order": "stroke"} if halo else {}
    return element("text", *inside, x=x, y=y, text_anchor=anchor, fill=f"var({ink})", **around)


def wrapped(words: str, longest: int, most: int) -> list[str]:
    """Return a text as at most ``most`` lines of ``longest`` cells, of which the last is cut.

    Lines are broken at blanks, and within a longer word after ``_``.
    """
    pieces = [f"{word} " for word in clean(words).split()] or [""]
    pieces = [
        part for one in pieces for part in ([one] if cell_len(one) <= longest else re.findall("[^_]*_+|[^_]+", one))
    ]
    lines = [""]
    for place, piece in enumerate(pieces):
        if lines[-1] and cell_len(f"{lines[-1]}{piece}".rstrip()) > longest:
            if len(lines) == most:
                lines[-1] += "".join(pieces[place:])
                break
            lines.append("")
        lines[-1] += piece
    return [cut(one.rstrip(), longest) for one in lines]


def width_of(words: str) -> float:
    """Return the approximate width of a text in units."""
    return CELL * cell_len(words)


def line(points: Sequence[tuple[float, float]], ink: str = "--line", **attributes: object) -> Markup:
    """Return a line through points."""
    return element("path", d=path_of(points), fill="none", stroke=f"var({ink})", **attributes)


def path_of(points: Sequence[tuple[float, float]]) -> str:
    """Return the ``d`` attribute of a path through points."""
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)


def accent(series: int) -> str:
    """Return the custom property of the colour of a series."""
    return f"--accent-{series % N_STYLES + 1}"


def spot(shape: str, title: str, **attributes: object) -> Markup:
    """Return an invisible shape that shows a title on hovering."""
    return element(shape, element("title", title), fill="none", pointer_events="all", **attributes)


def mark(x: float, y: float, series: int, *, filled: bool = True, title: str | None = None) -> Markup:
    """Return the mark of a series, whose shape distinguishes it without its colour; hovering shows the title."""
    colour = f"var({accent(series)})"
    return element(
        "path",
        *([] if title is None else [element("title", title)]),
        d=MARKS[series % N_STYLES],
        transform=f"translate({_value(x)} {_value(y)})",
        fill=colour if filled else "var(--ground, none)",
        stroke=colour,
        stroke_width=1.5,
    )


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> Markup:
    """Return the numbers of a chart as a collapsed table.

    Args:
        title: Title of the chart.
        head: Names of the columns.
        rows: Cells by row; the first names the row.
        note: A sentence below the table.
    """
    top = element("tr", *(element("th", name, scope="col") if name else element("td") for name in head))
    body = (
        element("tr", element("th", name, scope="row"), *(element("td", cell) for cell in row)) for name, *row in rows
    )
    whole = element("table", element("thead", top), element("tbody", *body))
    return element(
        "details",
        element("summary", "Numbers", Markup(" "), element("span", f"of the figure: {title}", class_="unseen")),
        element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=f"Numbers of: {title}"),
        *([element("p", note)] if note else []),
    )


@dataclass(frozen=True)
class Chart:
    """A picture with its title, as embedded in a page; ``recx.report.charts.figures`` makes a file of it.

    Attributes:
        title: What it shows.
        height: Its height in units; it is ``WIDTH`` units wide.
        drawn: The elements of the picture.
        samples: The legend: a sample and its name for every series.
        numbers: The table of the numbers behind the picture.
        about: What the picture shows, for readers who cannot see it.
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
        size = {"width": 32, "height": 14, "viewBox": "0 0 32 14", "aria_hidden": "true"}
        samples = (element("li", element("svg", one, **size), Markup(" "), name) for one, name in self.samples)
        legend = [element("ul", *samples, class_="legend")] if self.samples else []
        return element("figure", element("figcaption", self.title), picture, *legend, self.numbers, class_="chart")


def no_data(title: str) -> Chart:
    """Return a chart that says that there is nothing to show."""
    return Chart(title, 60, [text(WIDTH / 2, 35, "no data", anchor="middle", ink="--muted")], about="No data.")


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else clean(value)

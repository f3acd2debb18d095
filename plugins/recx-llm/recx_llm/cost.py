"""What calls cost: tokens estimated before, counted after, and a limit that no call may pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from recx.plugin import InputError

BYTES = 4
"""Bytes of UTF-8 for a token, on average of English texts; other scripts have more tokens to a character."""
FRAME = 8
"""Tokens that frame a message."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Tokens:
    """Numbers of tokens.

    Attributes:
        input: Of prompts.
        output: Of answers.
    """

    input: int = 0
    output: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.input + other.input, self.output + other.output)


@dataclass(frozen=True)
class Price:
    """The price of a million tokens.

    Attributes:
        input: Of prompts.
        output: Of answers.
    """

    input: float
    output: float

    @classmethod
    def of(cls, model: str | None, prices: Mapping[str, Mapping[str, float]]) -> Price | None:
        """Return the price of a model; None if there is none.

        Raises:
            InputError: A price is not one of ``input`` and one of ``output``.
        """
        for name, price in prices.items():
            if set(price) != {"input", "output"}:
                raise InputError(
                    f"ranker.prices.{name}: it must be a mapping of input and output to prices, each given"
                )
        return cls(**prices[model]) if model is not None and model in prices else None

    def cost(self, tokens: Tokens) -> float:
        """Return the cost of some tokens."""
        return (self.input * tokens.input + self.output * tokens.output) / MILLION


@dataclass
class Ledger:
    """What the calls of this ranker have cost so far, and those that are under way may cost.

    Attributes:
        price: The price; None: unknown, which no limit allows.
        limit: The most that they may cost; None: any amount.
        paid: The tokens of all answers that were paid for.
        open: The tokens, as estimated, of the calls under way.
    """

    price: Price | None
    limit: float | None
    paid: Tokens = field(default_factory=Tokens)
    open: Tokens = field(default_factory=Tokens)

    def check(self, more: Tokens) -> None:
        """Raise InputError if further tokens, as estimated, could cost more than is allowed."""
        if self.limit is None or self.price is None:
            return
        so_far, then = self.price.cost(self.paid), self.price.cost(self.paid + self.open + more)
        if then > self.limit:
            raise InputError(
                f"ranker.max_cost={self.limit:g}: {f'{so_far:.4g} are spent, and ' if so_far else ''}the calls to come "
                f"bring the cost to {then:.4g}, as estimated: raise it, or lower ranker.top or "
                "ranker.max_words; answers so far are kept"
            )

    def begin(self, estimate: Tokens) -> None:
        """Note a call that is about to be made (raises as ``check``)."""
        self.check(estimate)
        self.open += estimate

    def end(self, estimate: Tokens, used: Tokens | None) -> None:
        """Note what a call used; None: it failed."""
        self.open += Tokens(-estimate.input, -estimate.output)
        self.paid += used or Tokens()


def tokens_of(text: str) -> int:
    """Return the estimated number of tokens of a prompt."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES) + FRAME

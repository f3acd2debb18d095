"""Hydra's sweeper for every combination of values, which can also leave each entry of a group out in turn."""

from __future__ import annotations

from collections.abc import Sequence

from recx.config.hydra_internals import BasicSweeper, Override, is_deletion, typed


class Grid(BasicSweeper):
    """Runs every combination of the values, one after the other.

    leave_out: a group, such as ``feature``: every combination runs as it is, then once without each of its entries.
    max_batch_size, params: see Hydra's basic sweeper.
    """

    def __init__(
        self, max_batch_size: int | None = None, params: dict[str, str] | None = None, leave_out: str | None = None
    ) -> None:
        super().__init__(max_batch_size, params)
        self.leave_out = leave_out

    def split_arguments(  # type: ignore[override]  # static there, though always called on an object
        self, overrides: list[Override], max_batch_size: int | None
    ) -> list[list[list[str]]]:
        """Return the words of every trial, in batches."""
        # Hydra's own would turn ~feature.age into ~feature.age=null, which takes nothing out.
        deleted = [typed(override) for override in overrides if is_deletion(override)]
        kept = [override for override in overrides if not is_deletion(override)]
        [combinations] = super().split_arguments(kept, None)
        trials = [[*words, *deleted, *one] for words in combinations for one in self._left_out(deleted)]
        return list(self.split_overrides_to_chunks(trials, max_batch_size)) if trials else []

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        """Compose one trial of each combination of options before any runs, which tells a misspelt option.

        Hydra's own composes every trial twice; what else may be wrong with a value, its trial tells.
        """
        of_options = {tuple(word for word in words if "." not in word.partition("=")[0]): words for words in batch}
        super().validate_batch_is_legal(list(of_options.values()))

    def _left_out(self, deleted: list[str]) -> list[list[str]]:
        if self.leave_out is None or self.config is None:
            return [[]]
        names = [f"~{self.leave_out}.{name}" for name in self.config[self.leave_out]]
        return [[], *([name] for name in names if name not in deleted)]

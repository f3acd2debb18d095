"""Hydra's sweeper over all combinations of values, which can also leave out each entry of a group in turn."""

from __future__ import annotations

from collections.abc import Sequence

from recx.config.hydra_internals import BasicSweeper, Override, is_deletion, typed


class Grid(BasicSweeper):
    """Runs every combination of the values, one after the other.

    Args:
        max_batch_size: See Hydra's basic sweeper.
        params: See Hydra's basic sweeper.
        leave_out: A group, such as ``feature``: every combination runs as it is, then once without each of its entries.
    """

    def __init__(
        self, max_batch_size: int | None = None, params: dict[str, str] | None = None, leave_out: str | None = None
    ) -> None:
        super().__init__(max_batch_size, params)
        self.leave_out = leave_out

    def split_arguments(  # type: ignore[override]  # static there, though always called on an object
        self, overrides: list[Override], max_batch_size: int | None
    ) -> list[list[list[str]]]:
        """Return the overrides of every trial, in batches."""
        # Hydra's own method would turn ~feature.age into ~feature.age=null, which removes nothing.
        deleted = [typed(override) for override in overrides if is_deletion(override)]
        [combinations] = super().split_arguments([one for one in overrides if not is_deletion(one)], None)
        trials = [[*values, *deleted, *one] for values in combinations for one in self._left_out(deleted)]
        return list(self.split_overrides_to_chunks(trials, max_batch_size)) if trials else []

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        """Compose one trial of each combination of options before any runs, which finds misspelt options.

        Hydra's own method composes every trial twice; other errors are reported by the trial itself.
        """
        of_options = {tuple(one for one in trial if "." not in one.partition("=")[0]): trial for trial in batch}
        super().validate_batch_is_legal(list(of_options.values()))

    def _left_out(self, deleted: list[str]) -> list[list[str]]:
        if self.leave_out is None or self.config is None:
            return [[]]
        names = [f"~{self.leave_out}.{name}" for name in self.config[self.leave_out]]
        return [[], *([name] for name in names if name not in deleted)]

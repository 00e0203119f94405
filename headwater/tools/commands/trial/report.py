"""The words of a trial: whether rows are the same, where they are not, and what each source costs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Final

from headwater.core.redaction import redacted
from headwater.tools.commands.text_table import text_table
from headwater.tools.commands.trial.reading import ComparedReading, Cost, Load, costs, read_by
from headwater.tools.commands.trial.row_comparison import columns_that_differ, digest, first_places

OURS: Final = "headwater"
SPARKS: Final = "Spark's own source"
FEW_ROWS: Final = 100_000
"""The start of tasks outweighs the reading of so few: they say nothing about a year."""
_PLACES: Final = 5
_SHOWN: Final = 10
_YEAR_S: Final = 31_557_600
_HOUR_S: Final = 3_600


class Report:
    """Writes a trial to stdout, as it goes on. Used by one thread.

    Attributes:
        is_same: whether all rows that were compared are the same.
        differing: the names of columns in which a difference was shown.

    Args:
        rounds: how often each source is timed.
    """

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self.is_same = True
        self.differing: frozenset[str] = frozenset()

    def say(self, line: str) -> None:
        """Write a line, without secrets."""
        sys.stdout.write(f"{redacted(line)}\n")
        sys.stdout.flush()

    def say_some(self, lines: Iterable[str]) -> None:
        """Write the first of many lines."""
        every = list(lines)
        for line in every[:_SHOWN]:
            self.say(f"  {line}")
        if len(every) > _SHOWN:
            self.say(f"  and {len(every) - _SHOWN:,} more")

    def compare(self, reading: ComparedReading) -> int:
        """Read through both, and say whether the rows are the same.

        Returns:
            How many rows Spark's source has.

        Raises:
            ReadError: one of the two could not read.
        """
        sparks, ours = read_by(SPARKS, reading.sparks), read_by(OURS, reading.ours)
        places = columns_that_differ(sparks, ours)
        if not places:
            expected, other = read_by(SPARKS, lambda: digest(sparks)), read_by(OURS, lambda: digest(ours))
            if expected == other:
                self.say(f"{reading.title}: {expected.rows:,} rows, the same")
                return expected.rows
            places = self._places(reading)
            if not places:
                # Compacted, or deleted by retention, between the two.
                self.say(
                    f"{reading.title}: {expected.rows:,} rows, the same; while they were first read some went"
                )
                return expected.rows
            self.say(
                f"{reading.title}: {expected.rows:,} rows of Spark's source, {other.rows:,} of headwater"
            )
        self.is_same = False
        self.say(f"{reading.title}: NOT the same. First places:")
        self.say_some(places)
        return 0

    def _places(self, reading: ComparedReading) -> list[str]:
        sparks, ours = reading.placed or (reading.sparks, reading.ours)
        places = read_by("one of the two", lambda: first_places(sparks(), ours(), reading.place, _PLACES))
        self.differing |= frozenset[str]().union(*(each.columns for each in places))
        return [each.text for each in places]

    def measure(self, loads: Mapping[str, Load], rows: int, rows_per_s: float | None) -> None:
        """Time each source, and tell the cost.

        Args:
            loads: of the sources, by their names.
            rows: how many rows each reads.
            rows_per_s: how many the query reads; None if that is not known.
        """
        by_source = costs(loads, self._rounds)
        lines = [_cost(name, cost, rows) for name, cost in by_source.items()]
        for line in text_table(("source", "seconds", "rows/s", "CPU s", "CPU us/row"), lines):
            self.say(f"  {line}")
        if len(by_source) > 1:
            self._ratio(by_source[SPARKS], by_source[OURS], rows, rows_per_s)

    def _ratio(self, sparks: Cost, ours: Cost, rows: int, rows_per_s: float | None) -> None:
        line = f"  headwater reads {sparks.seconds / ours.seconds:.2f} times the rows a second"
        if sparks.cpu_seconds is None or ours.cpu_seconds is None:
            self.say(f"{line}; CPU seconds are known on Linux only")
            return
        by_cpu = sparks.cpu_seconds / ours.cpu_seconds if ours.cpu_seconds else float("inf")
        self.say(f"{line}, and {by_cpu:.2f} times those of a CPU second")
        if rows < FEW_ROWS:
            self.say(
                "  few rows, so this is the start of tasks. More batches (--batches) tell what a year costs"
            )
            return
        if rows_per_s is None:
            self.say("  how many rows a second the query reads is not known from these batches")
            return
        each, other = (
            cost / rows * rows_per_s * _YEAR_S / _HOUR_S for cost in (sparks.cpu_seconds, ours.cpu_seconds)
        )
        less = "less" if each >= other else "more"
        self.say(
            f"  at the {rows_per_s:,.0f} rows a second of this query: {abs(each - other):,.1f} CPU hours a "
            f"year {less} ({other:,.1f} instead of {each:,.1f})"
        )


def _cost(name: str, cost: Cost, rows: int) -> tuple[str, ...]:
    cpu = cost.cpu_seconds
    return (
        name,
        f"{cost.seconds:.2f}",
        f"{rows / cost.seconds:,.0f}",
        "unknown" if cpu is None else f"{cpu:.2f}",
        "unknown" if cpu is None else f"{cpu / max(rows, 1) * 1e6:.2f}",
    )

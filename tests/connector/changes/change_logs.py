"""Drawn change logs: what a table goes through, as `hw.apply_changes` takes it, and the table at the end."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SCHEMA = (
    "_unchanged array<string>, note string, _op string, _lsn bigint, _seq int, _sync int, part int, "
    "id string, `a.b` double"
)
"""Not in the order of the table."""
TABLE = "id string, _sync int, part int, `a.b` double, note string"
KEY = ["part", "id"]


class Change(NamedTuple):
    """A change row, in the order of `SCHEMA`."""

    unchanged: list[str] | None
    note: str | None
    op: str
    lsn: int
    seq: int
    sync: int
    part: int | None
    id: str | None
    ab: float | None


@dataclass
class ModelTable:
    """A table with random writers, and the log of what they did.

    Args:
        rng: decides all.
    """

    rng: random.Random
    rows: dict[tuple[int, str], tuple[float | None, str | None]] = field(default_factory=dict)
    log: list[Change] = field(default_factory=list)
    lsn: int = 100
    sync: int = 0

    def __post_init__(self) -> None:
        for _ in range(self.rng.randrange(6)):
            self.rows[self._key()] = self._row()
        self._read()

    def read_again(self) -> None:
        """Change the table a few times without a log, read all of it again, and change it once more."""
        for _ in range(self.rng.randrange(5)):
            self.rows.pop(self._key(), None)
            self.rows[self._key()] = self._row()
        self.sync += 1
        self.lsn = self.rng.randrange(1, 200)  # another timeline may begin before
        self._read()
        # The first change tells that all rows have come.
        self.rows[2, "e"] = self._row()
        self._add("u", (2, "e"), self.rows[2, "e"], 0)

    def transaction(self) -> None:
        """Change the table a few times, and log that; or read it again."""
        if self.rng.random() < 0.2:
            self.read_again()
        self.lsn += self.rng.randrange(1, 50)
        for seq in range(0, 2 * self.rng.randrange(1, 5), 2):
            key = self._key()
            if self.rng.random() < 0.03:
                self.rows.clear()
                self._add("t", (None, None), (None, None), seq)
            elif key not in self.rows:
                self.rows[key] = self._row()
                self._add("c", key, self.rows[key], seq)
            else:
                self.rng.choice([self._update, self._update, self._delete, self._move])(key, seq)

    def expected(self) -> list[tuple[Any, ...]]:
        """Return the rows as the table has them, sorted."""
        return sorted(((name, part, *row) for (part, name), row in self.rows.items()), key=repr)

    def batches(self) -> list[list[Change]]:
        """Return the log, cut at random places; the rows of a batch in any order, some batches twice."""
        cut: list[list[Change]] = []
        at = 0
        while at < len(self.log):
            size = self.rng.choice([1, 2, 5, 20])
            batch = self.log[at : at + size]
            at += size
            self.rng.shuffle(batch)
            cut += [batch] * self.rng.choice([1, 1, 2])
        return cut

    def _read(self) -> None:
        for key in self.rng.sample(sorted(self.rows), len(self.rows)):
            self._add("r", key, self.rows[key], -1)

    def _update(self, key: tuple[int, str], seq: int) -> None:
        number, note = self._row()
        if self.rng.random() < 0.5:  # the long value is not sent
            self.rows[key] = (number, self.rows[key][1])
            self._add("u", key, (number, None), seq, ["note"])
        else:
            self.rows[key] = (number, note)
            self._add("u", key, (number, note), seq)

    def _delete(self, key: tuple[int, str], seq: int) -> None:
        del self.rows[key]
        self._add("d", key, (None, None), seq)

    def _move(self, key: tuple[int, str], seq: int) -> None:
        other = self._key()
        if other in self.rows:
            return
        row = self.rows.pop(key)
        self.rows[other] = row
        self._add("d", key, (None, None), seq)
        self._add("c", other, row, seq + 1)

    def _key(self) -> tuple[int, str]:
        return self.rng.randrange(2), self.rng.choice("abcd")

    def _row(self) -> tuple[float | None, str | None]:
        return self.rng.choice([None, 0.5, 1.5, -2.0]), self.rng.choice([None, "", "x", "long " * 10])

    def _add(
        self,
        op: str,
        key: tuple[int | None, str | None],
        row: tuple[float | None, str | None],
        seq: int,
        unchanged: list[str] | None = None,
    ) -> None:
        part, name = key
        sent = unchanged if unchanged or self.rng.random() < 0.5 else []
        self.log.append(Change(sent, row[1], op, self.lsn, seq, self.sync, part, name, row[0]))

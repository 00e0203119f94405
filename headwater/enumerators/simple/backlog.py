"""How splits share the limits of a batch, where positions do not count and the source reads ahead."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headwater.core.enumerator import SplitRequest
from headwater.core.planned_source import DEFAULT_ROW_BYTES
from headwater.core.simple_source import count_of
from headwater.core.split import SplitPath


@dataclass(frozen=True)
class SplitBacklog:
    """The unread part of splits.

    Attributes:
        positions: of the splits.
        heads: where they end; a split without a head is not read.
        sizes: about how many bytes a record has, by the names of splits.
    """

    positions: Mapping[SplitPath, Any]
    heads: Mapping[SplitPath, Any]
    sizes: Mapping[str, int]

    def shares(self, request: SplitRequest) -> Mapping[SplitPath, int] | None:
        """Return how many records a batch may have of each split; None: all that there are.

        In proportion to their backlogs. Records that are left over go to splits by chance: none of them waits
        for ever.
        """
        rows = {
            path: max(0, (count_of(self.heads[path]) or 0) - (count_of(position) or 0))
            for path, position in self.positions.items()
            if path in self.heads
        }
        total = sum(rows.values())
        most = total if request.max_rows is None else request.max_rows
        if request.max_bytes is not None and total:
            size = sum(self.sizes.get(path[0], DEFAULT_ROW_BYTES) * count for path, count in rows.items())
            most = min(most, max(1, request.max_bytes * total // max(1, size)))
        if total <= most:
            return None
        shares = {path: most * count // total for path, count in rows.items()}
        waiting = [path for path, count in rows.items() if count > shares[path]]
        for path in random.sample(waiting, most - sum(shares.values())):
            shares[path] += 1
        return shares

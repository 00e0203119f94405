"""The options of the hybrid source; those of its parts begin with the name of the part."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from headwater.connector.options import OptionTable
from headwater.connector.planned.options import PLANNED_OPTIONS
from headwater.core.options import Option, duration_ms, names, text
from headwater.core.source import Boundedness
from headwater.enumerators.hybrid.split import PositionSwitchPoint


def _parts(raw: str) -> tuple[str, ...]:
    parts = names(raw)
    wrong = [name for name in parts if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)]
    if len(parts) < 2 or wrong or len({name.lower() for name in parts}) < len(parts):
        raise ValueError(f"must be two or more different names of letters, digits and _, not {raw!r}")
    return tuple(name.lower() for name in parts)


def _time_us(raw: str) -> int:
    try:
        moment = datetime.fromisoformat(raw.strip())
    except ValueError:
        raise ValueError(f"must be a time such as 2024-05-01T12:00:00Z, not {raw!r}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _positions(raw: str) -> PositionSwitchPoint:
    if raw.strip().lower() == "end":
        return PositionSwitchPoint(None)
    try:
        offsets = json.loads(raw)
    except ValueError:
        offsets = None
    if not (offsets and isinstance(offsets, dict) and all(map(_are_offsets, offsets.values()))):
        raise ValueError(f'must be end, or JSON such as {{"orders": {{"0": 1200}}}}, not {raw!r}')
    return PositionSwitchPoint(offsets)


def _are_offsets(value: Any) -> bool:
    if not value or not isinstance(value, Mapping):
        return False
    return all(
        partition.isdigit() and type(offset) is int and offset >= 0 for partition, offset in value.items()
    )


SOURCES: Final[Option[tuple[str, ...]]] = Option(
    "sources",
    _parts,
    (),
    "The names of the parts, in the order in which they are read, such as `history,live`. Each has the "
    "options of its source with the name before them: `history.source=files`, `history.path`, "
    "`live.subscribe`.",
    required=True,
    kind="names",
    needed_in=tuple(Boundedness),
)
SEAM_COLUMN: Final = Option(
    "seamColumn",
    text,
    None,
    "The column of the type timestamp that decides, row by row, which part a row belongs to.",
)
SEAM_TIME: Final[Option[int | None]] = Option(
    "seamTime",
    _time_us,
    None,
    "Rows before this time come from the parts before the last one, all others from the last one: a time "
    "such as `2024-05-01T12:00:00Z`; without a zone it is in UTC.",
    kind="moment",
)
SEAM_DISORDER: Final = Option(
    "seamDisorder",
    duration_ms,
    3_600_000,
    "With `seamTime`: Kafka is read from so much before it on. No row at or after it may be in a record "
    "whose own timestamp is earlier by more.",
    shown_default="`1h`",
)
SEAM_OFFSETS: Final[Option[PositionSwitchPoint | None]] = Option(
    "seamOffsets",
    _positions,
    None,
    'Instead of a time: where Kafka begins, as JSON such as `{"orders": {"0": 1200}}`; or `end`: where the '
    "parts before end, by the footers of their Parquet files.",
    kind="json",
)

HYBRID_OPTIONS: Final = OptionTable(
    (
        SOURCES,
        SEAM_COLUMN,
        SEAM_TIME,
        SEAM_DISORDER,
        SEAM_OFFSETS,
        *PLANNED_OPTIONS,
    )
)
"""All options of the hybrid source, but for those of its parts."""

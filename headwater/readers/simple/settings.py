"""How the pages of a simple source are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleReadSettings:
    """The settings of the readers of every simple source, by mode and options.

    Attributes:
        is_planned: whether the stop of every range is known before reading.
        follows_growth: whether a split that has nothing more now may have more later: in a stream in barrier
            mode.
        read_timeout_ms: how long the source may take to yield or to return.
        ends_at_records: whether a record may say that its split ends (`EndsAtRecords`).
        retry_deadline_ms: how long a call that fails for a passing reason is repeated.
        fail_on_data_loss: whether records that are gone are an error; None: the source tells of none
            (`Forgets`).
    """

    is_planned: bool
    follows_growth: bool
    ends_at_records: bool
    read_timeout_ms: int
    retry_deadline_ms: int
    fail_on_data_loss: bool | None = None

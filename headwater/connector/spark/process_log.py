"""The log of headwater in the Python processes that Spark starts, which set up no logging."""

from __future__ import annotations

import logging
from typing import Final

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def show_log() -> None:
    """Let headwater's warnings come out with time and level; they go to ``stderr`` in any case.

    Called where a process of Spark's makes a source, and where a task begins; any number of times. Where
    somebody has set up logging, for headwater or for all, nothing changes.
    """
    logger = logging.getLogger("headwater")
    if logger.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)

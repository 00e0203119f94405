"""How long outputs wait for more, so that batches are worth what it costs to hand them on."""

from __future__ import annotations

import time
from collections.abc import Generator

from headwater.readers.async_io.stream_element_queue import Output

_EMITTING_SHARE = 10
_LEAST_LINGER_S = 0.002


class Linger:
    """How long outputs that are due wait for more: the cost of a batch decides.

    Ten times as long as the last batch took to be handed on: so handing on takes a tenth of the time at most,
    however few rows a batch has, and no row waits longer than that is worth.

    Args:
        most_s: never longer than this.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self.seconds = min(most_s, _LEAST_LINGER_S)

    def hand_on(self, outputs: list[Output]) -> Generator[list[Output], None, None]:
        """Yield outputs, and see how long it takes."""
        began = time.perf_counter()
        yield outputs
        took_s = time.perf_counter() - began
        self.seconds = min(self._most_s, max(_LEAST_LINGER_S, _EMITTING_SHARE * took_s))

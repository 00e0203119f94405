"""How long an operator waits: for room, for results when all rows are in, and for more outputs to hand on."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from headwater.readers.async_io.stream_element_queue import Output

_EMITTING_SHARE = 10
_LEAST_LINGER_S = 0.002


class WaitPolicy:
    """How long an operator waits. This one waits for everything; others say when they do not.

    Asked by the driving thread.
    """

    def waits_for_room(self) -> bool:
        """Whether rows for which there is no room are waited for. Asked again and again while they wait."""
        return True

    def seconds(self) -> float | None:
        """Return how long results are waited for when all rows are in; None for as long as they take.

        Asked once, when the last row is in.
        """
        return None

    def may_leave(self, unfinished: Any) -> bool:
        """Whether rows that are not out may be left for another time.

        Asked when the time is over; while it is False, the waiting goes on.

        Args:
            unfinished: the inputs that are not out, in the form in which the driver has them.
        """
        return True


class DriverWaitPolicy(WaitPolicy):
    """The policy of a driver that has its inputs in another form than the operator.

    Args:
        wait_policy: of the driver.
        gather: returns the driver's form of the operator's inputs; there is one at least.
    """

    def __init__(self, wait_policy: WaitPolicy, gather: Callable[[list[Any]], Any]) -> None:
        self._wait_policy = wait_policy
        self._gather = gather

    def waits_for_room(self) -> bool:
        return self._wait_policy.waits_for_room()

    def seconds(self) -> float | None:
        return self._wait_policy.seconds()

    def may_leave(self, unfinished: list[Any]) -> bool:
        return not unfinished or self._wait_policy.may_leave(self._gather(unfinished))


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

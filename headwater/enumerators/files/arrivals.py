"""Files that notifications tell of: taken out of a queue beside the query, until a batch asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle

from headwater.core.clock import Clock, RareWarning
from headwater.core.errors import HeadwaterError, SourceError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.core.worker_thread import WorkerThread
from headwater.enumerators.files.event_queue import EventQueue, ObjectPlace, QueueMessage
from headwater.enumerators.files.split import FileStatus

log = logger_of(__name__)

_MOST_HELD = 20_000
"""With so many files that nobody has asked for, the queue waits."""

_LOOKING = 16
"""So many objects are looked at at once."""

_PAUSE_S = 5
"""How long to leave a queue alone that does not answer."""


class ArrivalWatch:
    """Asks a queue on a thread of its own, and looks at each object that it tells of.

    The details of an event do not count: the object is looked at, so a file is the same whether a listing
    or an event tells of it, and one that is gone, or written again since, is no trouble.

    A message is deleted when its files are held here. If this process dies then, they are found by the
    listing with which each process begins; so are those of messages that were lost. Messages that are not
    about objects are left alone.

    `take` and `close` are called on any thread, and do not block.

    Args:
        queue: where the events are.
        find: returns the status of an object, by bucket and key; None if it is gone or not to be read.
        clock: for warnings.
        closing: set by `close`; ends what ``find`` waits for too.
    """

    def __init__(
        self,
        queue: EventQueue,
        find: Callable[[str, str], FileStatus | None],
        clock: Clock,
        closing: threading.Event,
    ) -> None:
        self._queue = queue
        self._find = find
        self._unreachable = RareWarning(clock)
        self._foreign = RareWarning(clock)
        self._closing = closing
        # Not a pool of Python's own: a process waits for its threads, and a store may not answer for long.
        self._lookers = [WorkerThread("headwater-arrivals-look") for _ in range(_LOOKING)]
        # Guards the fields below; notified when files are taken.
        self._changed = threading.Condition()
        self._held: list[FileStatus] = []
        self._failure: HeadwaterError | None = None
        self._thread: threading.Thread | None = None

    def take(self) -> list[FileStatus]:
        """Return the files that were told of since the last call. The first call begins to ask the queue.

        Raises:
            OptionError, SourceError: the queue cannot be used, for a reason that does not pass.
        """
        with self._changed:
            if self._failure is not None:
                raise self._failure
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="headwater-arrivals", daemon=True)
                self._thread.start()
            events = self._held
            self._held = []
            self._changed.notify_all()
            return events

    def close(self) -> None:
        """Let the thread end after its present question. Does not wait for it."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                try:
                    self._ask()
                    self._unreachable.is_over()
                except TransientSourceError as error:
                    if self._unreachable.is_due():
                        log.warning("%s; asked again. Files are found by listing meanwhile", error)
                    self._closing.wait(_PAUSE_S)
        except HeadwaterError as error:
            with self._changed:
                self._failure = error
        finally:
            for looker in self._lookers:
                looker.close(0)

    def _ask(self) -> None:
        """Take one answer of the queue."""
        messages = self._queue.receive()
        if self._closing.is_set():
            # Nobody will ask for their files here. They come again, to the process that reads the queue now.
            return
        about: dict[ObjectPlace, None] = {}
        understood: list[QueueMessage] = []
        for message in messages:
            try:
                about.update(dict.fromkeys(self._queue.arrived_objects(message.body)))
            except ValueError as error:
                if self._foreign.is_due():
                    log.warning("a message in the queue of notifications is left there: %s", error)
            else:
                understood.append(message)
        looks = [
            looker.submit(partial(self._look, place)) for looker, place in zip(cycle(self._lookers), about)
        ]
        self._hold([file for look in looks if (file := look.result()) is not None])
        self._queue.delete(understood)
        if not messages:
            self._closing.wait(self._queue.pause_s)

    def _look(self, place: ObjectPlace) -> FileStatus | None:
        """Return the status of an object, None if it is not to be read, or cannot be seen: a listing will."""
        try:
            return self._find(*place)
        except TransientSourceError:
            raise  # the whole answer is asked for again
        except SourceError as error:
            log.warning("%s/%s was told of, and cannot be looked at: %s", *place, error)
            return None

    def _hold(self, files: Sequence[FileStatus]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._held) < _MOST_HELD or self._closing.is_set())
            self._held += files

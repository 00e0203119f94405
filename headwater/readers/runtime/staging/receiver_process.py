"""The receiver as a process of its own, which outlives the task that starts it and answers tasks.

Run as a program with a pickled `ReceiverTask` on its standard input.
"""

from __future__ import annotations

import fcntl
import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Listener
from typing import IO, Any, Final

from headwater.core.errors import SourceError
from headwater.readers.runtime.staging.receiver import Receiver
from headwater.readers.runtime.staging.receiver_place import ReceiverPlace
from headwater.readers.runtime.staging.receiver_task import ReceiverAnswer, ReceiverTask, TaskQuestion

_THIS: Final = "headwater.readers.runtime.staging.receiver_process"
_MOST_LOG_BYTES: Final = 1 << 20
_LOOK_S: Final = 0.5
"""How often a receiver looks whether it is wanted still."""


_started: set[int] = set()
"""The processes that this one started and whose end it has not noticed yet."""


def start_receiver(task: ReceiverTask, place: ReceiverPlace) -> int:
    """Start a process for a receiver; return its id. Where another one runs, the new one ends at once.

    * A fresh interpreter, no fork: this process has threads, which a fork would cut off holding their locks.
    * A session of its own: a signal to the worker's process group, by which Spark ends Python workers, does
      not reach it.
    * The options, secrets included, go through a pipe: a command line and a file could be read
      by others. The environment is the worker's, for secrets that are named there.

    Args:
        task: the work of the receiver.
        place: of the receiver; prepared.
    """
    for started in list(_started):
        exit_code(started)
    # Appended: what the one before said may be why this one is started.
    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    if os.fstat(log).st_size > _MOST_LOG_BYTES:
        os.ftruncate(log, 0)
    outlet, inlet = os.pipe()
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", _THIS],
            # Spark adds to the path of a worker what a job brings along.
            {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            file_actions=[(os.POSIX_SPAWN_DUP2, outlet, 0)]
            + [(os.POSIX_SPAWN_DUP2, log, output) for output in (1, 2)],
            setsid=True,
        )
    finally:
        os.close(outlet)
        os.close(log)
        pipe = os.fdopen(inlet, "wb")
    _started.add(pid)
    # A receiver that ended before it read says why in its log.
    with suppress(BrokenPipeError), pipe:
        pickle.dump(task, pipe)
    return pid


def exit_code(pid: int) -> int | None:
    """Return how a process ended that `start_receiver` started; None if it has not."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        _started.discard(pid)
        return 0  # asked before, by the start of another one
    if not ended:
        return None
    _started.discard(pid)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Receive until no task asks any more."""
    # A terminal's Ctrl-C is for the driver; the receiver ends when it is idle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # What the process that started this one has written.
    task: ReceiverTask = pickle.load(sys.stdin.buffer)  # noqa: S301
    place = ReceiverPlace(task)
    # The worker's folder is deleted with its application.
    os.chdir(place.folder)
    with place.lock.open("wb") as lock:
        if _is_held(lock):
            return
        with place.listen() as listener:
            receiver = Receiver(task)
            # SIGTERM is for hosts that shut down: the connection is closed, and the broker keeps the rest.
            signal.signal(signal.SIGTERM, lambda *_: receiver.stop())
            threading.Thread(target=_accept, args=(listener, receiver, task, place), daemon=True).start()
            receiving = threading.Thread(target=receiver.run, name="headwater-receiver")
            receiving.start()
            while receiving.is_alive():
                receiving.join(_LOOK_S)
                if receiver.unasked_ms > task.idle_ms:
                    receiver.stop()
            _tell_end(receiver, task)


def _tell_end(receiver: Receiver, task: ReceiverTask) -> None:
    """Wait until a task has heard why the receiver has ended, for as long as one may come."""
    if receiver.has_news:
        receiver.end_told.wait(task.idle_ms / 1000)


def _accept(listener: Listener, receiver: Receiver, task: ReceiverTask, place: ReceiverPlace) -> None:
    while True:
        try:
            connection = listener.accept()
        except OSError:
            return  # closed: the process ends
        on_thread(partial(serve_same, connection, receiver, task, place))


def _is_held(lock: IO[Any]) -> bool:
    """Whether another process holds the lock. It is given up by the end of the process, however that ends."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def serve(connection: Connection, receiver: Receiver) -> None:
    """Answer one task's questions, one after the other, until it hangs up or there is nothing more to tell.

    On a thread of its own.

    Args:
        connection: to the task. Closed at the end.
        receiver: answers.
    """
    # The task may be killed, and hang up, at any moment.
    with connection, suppress(EOFError, OSError):
        while True:
            question: TaskQuestion = connection.recv()
            answer = receiver.hear(question)
            is_last = answer.error is not None or answer.finished
            if receiver.is_over and not is_last:
                return
            connection.send(answer)
            if is_last:
                receiver.end_told.set()
                return


def serve_same(connection: Connection, receiver: Receiver, task: ReceiverTask, place: ReceiverPlace) -> None:
    """Like `serve`, for a task that first sends its own `ReceiverTask`.

    If that is another one, this receiver ends, and makes room for another one. If the
    queue was taken over from the returning query, that query fails: otherwise both would take turns and lose
    messages.

    Args:
        connection: to the task.
        receiver: answers.
        task: its own work.
        place: of the receiver.
    """
    with suppress(EOFError, OSError):
        other: ReceiverTask = connection.recv()
        if task.is_same(other):
            serve(connection, receiver)
        elif other.query in place.taken_from():
            connection.recv()
            connection.send(ReceiverAnswer(None, error=_taken(other, task)))
            connection.close()
        else:
            if other.query != task.query:
                place.give_to(other.query)
            receiver.stop(
                SourceError(
                    f"another query reads {task.queue} now, or this one with other options. {task.remedy}",
                    split=task.split.split_id,
                )
            )
            # The end of this process hangs up. Until then no other receiver can begin, and a task that was
            # let go would come here again and again.
            while True:
                connection.recv()


def _taken(task: ReceiverTask, by: ReceiverTask) -> SourceError:
    return SourceError(
        f"another query has taken {task.queue} from this one, and messages with it: the one that stages them "
        f"at {by.query}. {task.remedy} If the other query has ended, its receiver on this host ends after "
        f"{by.idle_ms} ms, and this one may begin again",
        split=task.split.split_id,
    )


def on_thread(serving: Callable[[], None]) -> None:
    """Serve on a new thread, which does not keep the process alive."""
    threading.Thread(target=serving, name="headwater-receiver-answers", daemon=True).start()


if __name__ == "__main__":
    main()

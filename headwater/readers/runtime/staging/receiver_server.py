"""Answers tasks over connections: the receiver's end of what `receiver_link` asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from headwater.core.errors import SourceError
from headwater.readers.runtime.staging.receiver import Receiver
from headwater.readers.runtime.staging.receiver_place import ReceiverPlace
from headwater.readers.runtime.staging.receiver_task import Heard, ReceiverTask, TaskQuestion


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
            heard = receiver.hear(question)
            is_last = heard.error is not None or heard.finished
            if receiver.is_over and not is_last:
                return
            connection.send(heard)
            if is_last:
                receiver.end_told.set()
                return


def serve_same(connection: Connection, receiver: Receiver, task: ReceiverTask, place: ReceiverPlace) -> None:
    """Like `serve`, of a task that says first what it wants received.

    If that is not what this receiver does, it ends, and makes room for another one. A query that this one has
    taken the queue from fails instead when it comes back: two queries would take it from each other for ever,
    and each would lose what the other one gets.

    Args:
        connection: to the task.
        receiver: answers.
        task: what it was made for.
        place: of the receiver.
    """
    with suppress(EOFError, OSError):
        asked: ReceiverTask = connection.recv()
        if task.is_same(asked):
            serve(connection, receiver)
        elif asked.query in place.taken_from():
            connection.recv()
            connection.send(Heard(None, error=_taken(asked, task)))
            connection.close()
        else:
            if asked.query != task.query:
                place.give_to(asked.query)
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

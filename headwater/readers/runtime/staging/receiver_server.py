"""Answers tasks over connections: the receiver's end of what `receiver_link` asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from headwater.core.errors import SourceError
from headwater.readers.runtime.staging.receiver import Receiver
from headwater.readers.runtime.staging.receiver_task import ReceiverTask, TaskQuestion


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


def serve_same(connection: Connection, receiver: Receiver, task: ReceiverTask) -> None:
    """Like `serve`, of a task that says first what it wants received.

    If that is not what this receiver does, it ends, and makes room for another one.

    Args:
        connection: to the task.
        receiver: answers.
        task: what it was made for.
    """
    with suppress(EOFError, OSError):
        if task.is_same(connection.recv()):
            serve(connection, receiver)
        else:
            receiver.stop(
                SourceError(
                    f"another query reads {task.queue} now, or this one with other options",
                    split=task.split.split_id,
                )
            )
            # The end of this process hangs up. Until then no other receiver can begin, and a task that was
            # let go would come here again and again.
            while True:
                connection.recv()


def on_thread(serving: Callable[[], None]) -> None:
    """Serve on a new thread, which does not keep the process alive."""
    threading.Thread(target=serving, name="headwater-receiver-answers", daemon=True).start()

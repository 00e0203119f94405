"""A task does not wait for the acknowledgement of its own command."""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.spark.batch_reader import BatchReader, PushdownBatchReader
from headwater.connector.spark.handover import acknowledge, end_quietly, show_log
from headwater.connector.spark.stream_reader import StreamReader
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="TCP_QUICKACK is Linux's")

_MOST_EXCHANGES = 1_000


@pytest.fixture
def waiting() -> Iterator[socket.socket]:
    """Yield a connection that puts its acknowledgements off, as that of a worker that has answered a task."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as jvm,
    ):
        worker, _ = server.accept()
        with worker:
            for _ in range(_MOST_EXCHANGES):
                jvm.sendall(b"task")
                worker.recv(4, socket.MSG_WAITALL)
                worker.sendall(b"rows")
                jvm.recv(4, socket.MSG_WAITALL)
                if not acknowledges_at_once(worker):
                    break
            assert not acknowledges_at_once(worker)
            yield worker


def acknowledges_at_once(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))


class NoSource:
    """Stands in for a configured source: a reader that is only pickled does not look at it."""


def test_what_has_arrived_is_acknowledged(waiting: socket.socket) -> None:
    acknowledge()
    assert acknowledges_at_once(waiting)


@pytest.mark.parametrize("kind", [StreamReader, BatchReader, PushdownBatchReader])
def test_a_reader_that_is_loaded_in_a_task_acknowledges(waiting: socket.socket, kind: Any) -> None:
    configured: ConfiguredSource = NoSource()  # type: ignore[assignment]
    pickled = pickle.dumps(kind(configured, pa.schema([])))
    assert not acknowledges_at_once(waiting)
    assert isinstance(pickle.loads(pickled), kind)
    assert acknowledges_at_once(waiting)


def test_other_descriptors_are_left_as_they_are(waiting: socket.socket) -> None:
    read_end, write_end = os.pipe()
    ours, theirs = socket.socketpair()
    with ours, theirs, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.socket() as idle:
        acknowledge()
        os.write(write_end, b"x")
        assert os.read(read_end, 1) == b"x"
        ours.sendall(b"y")
        assert theirs.recv(1) == b"y"
        assert datagrams.fileno() != -1
        assert idle.fileno() != -1
    os.close(read_end)
    os.close(write_end)


def test_a_system_that_lists_no_descriptors_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.connector.spark.handover._OPEN_FILES", Path("/nowhere"))
    acknowledge()


PROGRAM = """
import logging
{set_up}
from headwater.connector.spark.handover import show_log
show_log()
show_log()
logging.getLogger("headwater.readers").warning("skipped")
logging.getLogger("headwater.readers").info("nobody asks")
"""


def said(set_up: str) -> str:
    program = PROGRAM.format(set_up=set_up)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return ran.stderr


def test_a_warning_comes_once_with_time_and_level() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \S+ WARNING headwater\.readers: skipped\n", said(""))


def test_what_the_program_has_set_up_stays() -> None:
    assert said("logging.basicConfig(format='%(message)s!')") == "skipped!\n"
    assert said("logging.getLogger('headwater').addHandler(logging.NullHandler())") == ""


def test_it_adds_nothing_beside_the_handlers_of_a_test() -> None:
    before = list(logging.getLogger("headwater").handlers)
    show_log()
    assert logging.getLogger("headwater").handlers == before


DAEMON = """
def worker(outfile, leave):
    outfile.write(b"rows")
    leave()
    outfile.flush()
"""


@pytest.mark.parametrize("is_closed", [True, False])
def test_rows_in_the_buffer_of_a_worker_go_nowhere_once_spark_has_closed_the_connection(
    is_closed: bool,
) -> None:
    names: dict[str, Any] = {}
    exec(compile(DAEMON, "/opt/pyspark/daemon.py", "exec"), names)
    ours, theirs = socket.socketpair()
    with ours, theirs, os.fdopen(os.dup(ours.fileno()), "wb") as outfile:
        if is_closed:
            theirs.close()
        names["worker"](outfile, end_quietly)
        assert is_closed or theirs.recv(100) == b"rows"


def test_outside_of_a_worker_nothing_happens() -> None:
    end_quietly()

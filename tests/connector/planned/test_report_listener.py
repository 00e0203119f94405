"""The driver's end of what tasks report: losses, and bytes."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest

from headwater.connector.planned import report_listener
from headwater.connector.planned.report_listener import ReportListener
from headwater.core.split import Split, SplitPath
from headwater.readers.runtime.loss_reports import LossReport, LossReports
from headwater.readers.runtime.task_reports import ReadCounter, ReportAddress
from tests.patience import PATIENCE_S


@dataclass(frozen=True)
class Part(Split):
    name: str

    @property
    def path(self) -> SplitPath:
        return (self.name,)


@pytest.fixture
def taken() -> queue.Queue[LossReport]:
    return queue.Queue()


@pytest.fixture
def address(taken: queue.Queue[LossReport]) -> Iterator[ReportAddress]:
    listener = ReportListener(taken.put)
    assert listener.address is not None
    yield listener.address
    listener.close()
    listener.close()


def ranges(taken: queue.Queue[LossReport]) -> list[tuple[str, object, object]]:
    return [(report.split, report.first, report.until) for report in list(taken.queue)]


def test_each_range_is_taken_and_logged_once_whoever_finds_it_again(
    address: ReportAddress, taken: queue.Queue[LossReport], caplog: pytest.LogCaptureFixture
) -> None:
    for _attempt in range(3):
        LossReports(address)(Part("a"), 0, 10, "were lost: why")
    LossReports(address)(Part("a"), 5, 15, "were lost: why")
    LossReports(address)(Part("b"), 0, 10, "were lost: why")
    assert ranges(taken) == [("a", 0, 10), ("a", 10, 15), ("b", 0, 10)]
    assert caplog.messages == [
        "a: positions 0 to 9 were lost: why",
        "a: positions 10 to 14 were lost: why",
        "b: positions 0 to 9 were lost: why",
    ]


def test_every_address_of_the_host_is_listened_on(
    address: ReportAddress, taken: queue.Queue[LossReport]
) -> None:
    assert "127.0.0.1" in address.hosts
    for host in address.hosts:
        LossReports(ReportAddress((host,), address.port, address.token))(Part(host), 0, 1, "were lost")
    assert [split for split, _, _ in ranges(taken)] == list(address.hosts)


@pytest.mark.parametrize(("given", "taken_over"), [("127.0.0.2", True), ("a-name", False), ("", False)])
def test_sparks_own_address_of_the_driver_is_one_of_them_unless_it_has_to_be_looked_up(
    taken: queue.Queue[LossReport], monkeypatch: pytest.MonkeyPatch, given: str, *, taken_over: bool
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", given)
    listener = ReportListener(taken.put)
    listener.close()
    assert listener.address is not None
    assert (given in listener.address.hosts) is taken_over


def test_noise_and_strangers_are_left_alone(address: ReportAddress, taken: queue.Queue[LossReport]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for datagram in (b"", b"noise", bytes(8_000)):
            stranger.sendto(datagram, ("127.0.0.1", address.port))
    LossReports(ReportAddress(address.hosts, address.port, b"guessed"))(Part("a"), 0, 1, "were lost")
    LossReports(address)(Part("b"), 0, 1, "were lost")
    assert ranges(taken) == [("b", 0, 1)]


def test_its_thread_ends_when_it_is_closed(taken: queue.Queue[LossReport]) -> None:
    others = threading.enumerate()
    listener = ReportListener(taken.put)
    (thread,) = [each for each in threading.enumerate() if each not in others]
    listener.close()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_a_system_without_sockets_to_spare_is_said_and_no_error(
    taken: queue.Queue[LossReport], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(place: str) -> socket.socket:
        raise OSError("too many open files")

    monkeypatch.setattr(report_listener, "_bound", refuse)
    listener = ReportListener(taken.put)
    assert listener.address is None
    listener.close()
    assert caplog.messages == [
        "reports of tasks are not counted; losses are in their logs: too many open files"
    ]


def batch(rows: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(range(rows), pa.int64())})


def tell(address: ReportAddress, *batches: pa.RecordBatch) -> None:
    counter = ReadCounter(address)
    for each in batches:
        counter.add(each)
    counter.close()


def test_the_bytes_of_each_attempt_count_once_though_they_arrive_at_each_address(
    taken: queue.Queue[LossReport],
) -> None:
    counted: list[int] = []
    listener = ReportListener(taken.put, lambda report: counted.append(report.metrics["numBytesIn"]))
    address = listener.address
    assert address is not None
    several = ReportAddress(("127.0.0.1", "127.0.0.2", "127.0.0.1"), address.port, address.token)
    tell(several, batch(10), batch(20))
    tell(several, batch(10), batch(20))
    tell(several)
    tell(ReportAddress(address.hosts, address.port, b"guessed"), batch(1_000))
    # One that is answered comes after the others: what was sent before has been taken.
    LossReports(address)(Part("a"), 0, 1, "were lost")
    listener.close()
    assert counted == [8 * 30, 8 * 30, 0]


def test_a_driver_out_of_reach_costs_a_task_nothing() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
        gone.bind(("127.0.0.1", 0))
        port = gone.getsockname()[1]
    tell(ReportAddress(("127.0.0.1", "::1", "192.0.2.1"), port, b"token"), batch(10))


@pytest.mark.parametrize("place", ["off", "127.0.0.1", "no address", "192.0.2.1"])
def test_reports_are_taken_where_the_user_says_or_nowhere(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_REPORTS", place)
    listener = ReportListener(lambda _: None)
    try:
        if place != "127.0.0.1":
            assert listener.address is None
            return
        assert listener.address is not None
        assert listener.address.hosts == ("127.0.0.1",)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            # Nothing listens at the other addresses of this host: the port is free there.
            other.bind(("127.0.0.2", listener.address.port))
    finally:
        listener.close()

"""The driver's end of the reports of losses."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from headwater.connector.planned import loss_listener
from headwater.connector.planned.loss_listener import LossListener
from headwater.core.split import Split, SplitPath
from headwater.readers.runtime.loss_reports import LossAddress, LossReport, LossReports


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
def address(taken: queue.Queue[LossReport]) -> Iterator[LossAddress]:
    listener = LossListener(taken.put)
    assert listener.address is not None
    yield listener.address
    listener.close()
    listener.close()


def ranges(taken: queue.Queue[LossReport]) -> list[tuple[str, object, object]]:
    return [(report.split, report.first, report.until) for report in list(taken.queue)]


def test_each_range_is_taken_and_logged_once_whoever_finds_it_again(
    address: LossAddress, taken: queue.Queue[LossReport], caplog: pytest.LogCaptureFixture
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
    address: LossAddress, taken: queue.Queue[LossReport]
) -> None:
    assert "127.0.0.1" in address.hosts
    for host in address.hosts:
        LossReports(LossAddress((host,), address.port, address.token))(Part(host), 0, 1, "were lost")
    assert [split for split, _, _ in ranges(taken)] == list(address.hosts)


@pytest.mark.parametrize(("given", "taken_over"), [("127.0.0.2", True), ("a-name", False), ("", False)])
def test_sparks_own_address_of_the_driver_is_one_of_them_unless_it_has_to_be_looked_up(
    taken: queue.Queue[LossReport], monkeypatch: pytest.MonkeyPatch, given: str, *, taken_over: bool
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", given)
    listener = LossListener(taken.put)
    listener.close()
    assert listener.address is not None
    assert (given in listener.address.hosts) is taken_over


def test_noise_and_strangers_are_left_alone(address: LossAddress, taken: queue.Queue[LossReport]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for datagram in (b"", b"noise", bytes(8_000)):
            stranger.sendto(datagram, ("127.0.0.1", address.port))
    LossReports(LossAddress(address.hosts, address.port, b"guessed"))(Part("a"), 0, 1, "were lost")
    LossReports(address)(Part("b"), 0, 1, "were lost")
    assert ranges(taken) == [("b", 0, 1)]


def test_its_thread_ends_when_it_is_closed(taken: queue.Queue[LossReport]) -> None:
    others = threading.enumerate()
    listener = LossListener(taken.put)
    (thread,) = [each for each in threading.enumerate() if each not in others]
    listener.close()
    thread.join(10)
    assert not thread.is_alive()


def test_a_system_without_sockets_to_spare_is_said_and_no_error(
    taken: queue.Queue[LossReport], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> socket.socket:
        raise OSError("too many open files")

    monkeypatch.setattr(loss_listener, "_bound", refuse)
    listener = LossListener(taken.put)
    assert listener.address is None
    listener.close()
    assert caplog.messages == [
        "losses that tasks find are logged by them, and not counted: too many open files"
    ]

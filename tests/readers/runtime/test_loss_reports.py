"""Reports of losses: what the driver takes, what a task logs where it does not, and how long it may take."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from headwater.core.split import Split, SplitPath
from headwater.readers.runtime import loss_reports
from headwater.readers.runtime.loss_reports import (
    LoggedRanges,
    LossReport,
    LossReports,
    answer_to,
    decode,
    encode,
)
from headwater.readers.runtime.task_reports import MOST_DATAGRAM_BYTES, ReportAddress
from tests.patience import PATIENCE_S

TOKEN = b"0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Part(Split):
    name: str
    incarnation: int = 1

    @property
    def path(self) -> SplitPath:
        return (self.name,)


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_reports, "_logged", LoggedRanges())


def lost(first: object, until: object, part: Part | None = None) -> LossReport:
    return LossReport.of(part or Part("a"), first, until, "were lost")  # type: ignore[arg-type]


def ranges(parts: list[LossReport]) -> list[tuple[object, object]]:
    return [(part.first, part.until) for part in parts]


class TestLoggedRanges:
    def test_a_range_is_told_once_and_of_a_longer_one_the_rest(self) -> None:
        told = LoggedRanges()
        assert ranges(told.add(lost(10, 20))) == [(10, 20)]
        assert told.add(lost(10, 20)) == []
        assert told.add(lost(12, 18)) == []
        assert ranges(told.add(lost(5, 25))) == [(5, 10), (20, 25)]
        assert told.add(lost(5, 25)) == []

    def test_splits_and_incarnations_are_told_apart(self) -> None:
        told = LoggedRanges()
        parts = [Part("a"), Part("b"), Part("a", incarnation=2)]
        assert [ranges(told.add(lost(0, 5, part))) for part in parts] == [[(0, 5)]] * 3

    def test_positions_without_an_order_are_known_as_a_whole(self) -> None:
        told = LoggedRanges()
        assert ranges(told.add(lost("a", "f"))) == [("a", "f")]
        assert told.add(lost("a", "f")) == []
        assert ranges(told.add(lost("a", "c"))) == [("a", "c")]

    def test_it_remembers_the_last_ones(self) -> None:
        told = LoggedRanges(most=2)
        for first in (0, 10, 20):
            told.add(lost(first, first + 5))
        assert told.add(lost(20, 25)) == []
        assert ranges(told.add(lost(0, 5))) == [(0, 5)]


class TestDatagrams:
    def test_a_report_arrives_as_it_was_sent(self) -> None:
        report = lost(1, 4)
        assert decode(encode(report, TOKEN), TOKEN) == report

    @pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 100])
    def test_what_is_not_authentic_is_not_taken(self, length: int) -> None:
        datagram = encode(lost(1, 4), TOKEN)
        assert decode(datagram[:length], TOKEN) is None
        assert decode(datagram, b"another token") is None
        for at in range(len(datagram)):
            changed = bytearray(datagram)
            changed[at] ^= 1
            assert decode(bytes(changed), TOKEN) is None

    def test_an_answer_is_no_report_and_belongs_to_one_report(self) -> None:
        first, second = encode(lost(1, 4), TOKEN), encode(lost(2, 4), TOKEN)
        assert answer_to(first, TOKEN) != answer_to(second, TOKEN)
        assert decode(answer_to(first, TOKEN), TOKEN) is None

    def test_long_reasons_and_names_fit(self) -> None:
        report = LossReport.of(Part("t" * 249), 1 << 62, (1 << 63) - 1, "\u00e4" * 10_000)
        assert len(encode(report, TOKEN)) < MOST_DATAGRAM_BYTES


class TestWithoutADriver:
    def test_each_range_is_logged_once_in_a_process(self, caplog: pytest.LogCaptureFixture) -> None:
        """Python workers are used again: also by the next attempt of a task, and by the next scan."""
        for until in (10, 10, 12):
            LossReports(None)(Part("a"), 5, until, "were lost: why; going on")
        assert caplog.messages == [
            "a: positions 5 to 9 were lost: why; going on",
            "a: positions 10 to 11 were lost: why; going on",
        ]

    def test_positions_that_are_no_numbers(self, caplog: pytest.LogCaptureFixture) -> None:
        LossReports(None)(Part("a"), "x", {"n": 1}, "were lost")
        assert caplog.messages == ["a: positions x to before {'n': 1} were lost"]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        own.settimeout(10)
        yield own


@pytest.fixture
def answering(listener: socket.socket) -> Iterator[Callable[[Callable[[bytes], bytes]], None]]:
    """Answer each datagram in a thread."""
    threads = []

    def start(answer: Callable[[bytes], bytes]) -> None:
        def run() -> None:
            datagram, sender = listener.recvfrom(10_000)
            listener.sendto(answer(datagram), sender)

        threads.append(threading.Thread(target=run))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join(PATIENCE_S)


class TestReporting:
    def test_what_the_driver_has_taken_is_not_logged_by_the_task(
        self,
        listener: socket.socket,
        answering: Callable[[Callable[[bytes], bytes]], None],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        received: list[LossReport | None] = []

        def answer(datagram: bytes) -> bytes:
            received.append(decode(datagram, TOKEN))
            return answer_to(datagram, TOKEN)

        answering(answer)
        # Documentation's address is out of reach: the other one answers.
        hosts = ("192.0.2.1", "127.0.0.1")
        LossReports(ReportAddress(hosts, listener.getsockname()[1], TOKEN))(Part("a"), 1, 4, "were lost")
        assert received == [lost(1, 4)]
        assert not caplog.messages

    @pytest.mark.parametrize("answer", [b"", b"no", b"x" * 32])
    def test_a_stranger_that_answers_is_not_the_driver(
        self,
        listener: socket.socket,
        answering: Callable[[Callable[[bytes], bytes]], None],
        caplog: pytest.LogCaptureFixture,
        answer: bytes,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(loss_reports, "_PATIENCE_S", (0.01, 0.01))
        answering(lambda _: answer)
        LossReports(ReportAddress(("127.0.0.1",), listener.getsockname()[1], TOKEN))(
            Part("a"), 1, 4, "were lost"
        )
        (message,) = caplog.messages
        assert message.startswith("a: positions 1 to 3 were lost. The driver cannot be reached from here")

    @pytest.mark.parametrize(
        "hosts", [(), ("127.0.0.1",), ("::1",), ("192.0.2.1", "2001:db8::1"), ("nonsense",)]
    )
    def test_a_driver_out_of_reach_costs_a_task_a_second_once_and_never_fails_it(
        self,
        hosts: tuple[str, ...],
        caplog: pytest.LogCaptureFixture,
        free_udp_port: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(loss_reports, "_PATIENCE_S", (0.1, 0.2))
        reports = LossReports(ReportAddress(hosts, free_udp_port, TOKEN))
        before = time.monotonic()
        for part in range(50):
            reports(Part(f"p{part}"), 0, 5, "were lost")
        # Fifty times 0.1 s would be 5 s.
        assert time.monotonic() - before < 4
        assert len(caplog.messages) == 50
        assert caplog.messages[0].endswith(
            "The driver cannot be reached from here (UDP), and does not count it"
        )

    def test_an_address_travels_and_does_not_show_its_token(self) -> None:
        address = ReportAddress(("127.0.0.1",), 5, TOKEN)
        assert pickle.loads(pickle.dumps(address)) == address
        assert "0123" not in repr(address)


@pytest.fixture
def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

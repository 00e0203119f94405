"""Positions outlive everything that hides a partition: nothing is read twice, and nothing is lost in silence.

Real coordinator, real enumerator, a cluster in memory. What a batch reads are its ranges.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.connector.coordination.coordinator import SourceCoordinator
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.kafka.configure import configure_kafka
from headwater.connector.sources.kafka.source import KafkaSource
from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonObject
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.enumerators.kafka import lookup
from tests.enumerators.kafka.model_cluster import ModelCluster, ModelLog

Record: TypeAlias = tuple[str, int, int]
"""Topic id, partition, offset."""


class ModelQuery:
    """A stream on a cluster in memory: its offset log, and every record that its batches read."""

    def __init__(self, cluster: ModelCluster, **options: str) -> None:
        self.cluster = cluster
        self.log: list[JsonObject] = []
        self.read: Counter[Record] = Counter()
        self.options = {"subscribepattern": ".*", "startingoffsets": "earliest", **options}
        self._coordinator: SourceCoordinator[Any] | None = None

    def step(self, *, logs: bool = True) -> bool:
        """Plan a batch, log it and read it; return whether there was one.

        Args:
            logs: whether the plan comes to be logged; otherwise it is given up.
        """
        start = self.log[-1] if self.log else self._open().initial_offset()
        end = self._open().plan_next(start, limited=True)
        if end == start or not logs:
            return False
        self.log.append(json.loads(json.dumps(end)))
        self.replay()
        for (topic_id, partition), stop in self._ends(self.log[-1]).items():
            for record in self._ranges(topic_id, partition, stop):
                self.read[record] += 1
        return True

    def replay(self) -> None:
        """Read the last logged batch in a new process: the same ranges as in this one."""
        before = self.log[-2] if len(self.log) > 1 else self._open().initial_offset()
        ranges = self._pieces(before)
        self.restart()
        assert self._pieces(before) == ranges

    def restart(self, **options: str) -> None:
        """End the process. The next step begins a new one."""
        self.close()
        self.options |= options

    def close(self) -> None:
        if self._coordinator is not None:
            self._coordinator.close()
        self._coordinator = None

    @property
    def losses(self) -> Any:
        return self.log[-1].get("losses", {"rows": 0, "at_least_rows": 0, "ranges": []})

    def _pieces(self, before: JsonObject) -> list[tuple[str, int, int, int]]:
        return sorted(
            (piece.split.topic_id, piece.split.partition, piece.start, piece.stop)
            for task in self._open().tasks(before, self.log[-1])
            for piece in task.ranges
        )

    def _ends(self, end: JsonObject) -> dict[tuple[str, int], tuple[int, int]]:
        before = self.log[-2] if len(self.log) > 1 else self._open().initial_offset()
        return {(topic, part): (first, stop) for topic, part, first, stop in self._pieces(before)}

    def _ranges(self, topic_id: str, partition: int, borders: tuple[int, int]) -> Iterator[Record]:
        first, stop = borders
        log = next(
            topic.logs[partition] for topic in self.cluster.topics.values() if topic.topic_id == topic_id
        )
        assert log.start <= first <= stop <= log.end, "planning leaves no loss to the tasks"
        return ((topic_id, partition, offset) for offset in range(first, stop))

    def _open(self) -> SourceCoordinator[Any]:
        if self._coordinator is None:
            self._coordinator = self._configured().create_coordinator()
        return self._coordinator

    def _configured(self) -> ConfiguredPlannedSource:
        configured = configure_kafka(
            {"kafka.bootstrap.servers": "model:9092", **self.options}, Boundedness.CONTINUOUS_UNBOUNDED
        )
        source = configured.source
        assert isinstance(source, KafkaSource)
        eager = replace(source.lookup, num_retries=0, retry_interval_ms=0, discovery_interval_ms=0)
        return replace(configured, source=replace(source, lookup=eager), backoff=Backoff(deadline_ms=1_000))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ModelCluster:
    made = ModelCluster()
    monkeypatch.setattr(lookup, "Cluster", lambda _: made)
    return made


@pytest.fixture
def query(cluster: ModelCluster) -> Iterator[Callable[..., ModelQuery]]:
    made: list[ModelQuery] = []

    def make(**options: str) -> ModelQuery:
        made.append(ModelQuery(cluster, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def grow(cluster: ModelCluster, name: str, rows: int) -> None:
    for log in cluster.topics[name].logs.values():
        log.end += rows


def every_record(cluster: ModelCluster) -> set[Record]:
    return {
        (topic.topic_id, partition, offset)
        for topic in cluster.topics.values()
        for partition, log in topic.logs.items()
        for offset in range(log.end)
    }


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_blip_of_everything_brings_nothing_twice(
    cluster: ModelCluster, query: Callable[..., ModelQuery], fail_on_data_loss: str, *, restarted: bool
) -> None:
    cluster.create("a", 2)
    grow(cluster, "a", 50)
    reading = query(failondataloss=fail_on_data_loss)
    assert reading.step()
    cluster.topics["a"].is_hidden = True
    assert not reading.step()
    if restarted:
        reading.restart()
    assert not reading.step()
    cluster.topics["a"].is_hidden = False
    grow(cluster, "a", 1)
    assert reading.step()
    assert reading.read == Counter(every_record(cluster))


def test_topics_of_a_pattern_that_vanish_one_by_one_go_on_where_they_were(
    cluster: ModelCluster, query: Callable[..., ModelQuery]
) -> None:
    for name in "abc":
        cluster.create(name, 1)
        grow(cluster, name, 5)
    reading = query(failondataloss="false")
    reading.step()
    for name in "abc":
        cluster.topics[name].is_hidden = True
        for each in "abc":
            grow(cluster, each, 2)
        reading.step()
        reading.restart()
    assert set(reading.log[-1]["kept"]) == {"a", "b"}  # type: ignore[arg-type]
    for name in "cab":
        cluster.topics[name].is_hidden = False
        reading.step()
    assert "kept" not in reading.log[-1]
    assert reading.read == Counter(every_record(cluster))
    assert reading.losses["rows"] == 0


def test_a_part_out_of_sight_fails_and_a_restart_goes_on_when_it_is_back(
    cluster: ModelCluster, query: Callable[..., ModelQuery]
) -> None:
    for name in "ab":
        cluster.create(name, 1)
        grow(cluster, name, 5)
    reading = query()
    reading.step()
    cluster.topics["b"].is_hidden = True
    for name in "ab":
        grow(cluster, name, 2)
    for _ in range(2):
        with pytest.raises(DataLossError, match=r"not in sight \(1: b-0\).*A restart goes on"):
            reading.step()
        reading.restart()
    cluster.topics["b"].is_hidden = False
    reading.step()
    assert reading.read == Counter(every_record(cluster))


def test_positions_that_were_kept_are_there_under_fail_on_data_loss_too(
    cluster: ModelCluster, query: Callable[..., ModelQuery]
) -> None:
    for name in "ab":
        cluster.create(name, 1)
        grow(cluster, name, 5)
    reading = query(failondataloss="false")
    reading.step()
    cluster.topics["b"].is_hidden = True
    grow(cluster, "a", 2)
    reading.step()
    reading.restart(failondataloss="true")
    grow(cluster, "a", 2)
    assert reading.step()
    cluster.topics["b"].is_hidden = False
    grow(cluster, "b", 1)
    assert reading.step()
    assert reading.read == Counter(every_record(cluster))


def test_what_is_deselected_is_forgotten_also_while_it_is_out_of_sight(
    cluster: ModelCluster, query: Callable[..., ModelQuery]
) -> None:
    for name in "ab":
        cluster.create(name, 1)
        grow(cluster, name, 5)
    reading = query(failondataloss="false")
    reading.step()
    cluster.topics["b"].is_hidden = True
    grow(cluster, "a", 1)
    reading.step()
    assert set(reading.log[-1]["kept"]) == {"b"}  # type: ignore[arg-type]
    reading.restart(subscribepattern="a")
    assert reading.step()
    assert "kept" not in reading.log[-1]


def test_a_partition_that_was_added_and_aged_is_counted_once(
    cluster: ModelCluster, query: Callable[..., ModelQuery]
) -> None:
    topic = cluster.create("a", 1)
    reading = query(failondataloss="false")
    reading.step()
    topic.logs[1] = ModelLog(7, 7)
    assert reading.step()
    assert (reading.losses["rows"], reading.losses["ranges"][0]["until"]) == (7, 7)
    assert not reading.step()
    topic.logs[1].end = 10
    reading.restart(failondataloss="true")
    assert reading.step()
    assert {offset for _, partition, offset in reading.read if partition == 1} == {7, 8, 9}
    assert reading.losses["rows"] == 7


def test_a_mirror_is_gone_over_to_once(cluster: ModelCluster, query: Callable[..., ModelQuery]) -> None:
    cluster.create("a", 2)
    grow(cluster, "a", 5)
    reading = query()
    reading.step()
    before = set(reading.read)
    cluster.cluster_id = "two"
    mirror = cluster.create("a", 2)
    grow(cluster, "a", 8)
    reading.restart()
    with pytest.raises(DataLossError, match=r"another cluster than the checkpoint's \(one -> two\)"):
        reading.step()
    reading.restart(acceptnewtopicids="true")
    assert not reading.step(logs=False)
    assert reading.step()
    assert set(reading.read) - before == {(mirror.topic_id, p, o) for p in (0, 1) for o in (5, 6, 7)}
    assert reading.log[-1]["state"] == {"cluster_id": "two"}
    reading.restart(acceptnewtopicids="false")
    assert not reading.step()


NAMES = st.sampled_from("ab")
LOGS = st.tuples(st.sampled_from(["produce", "remove"]), NAMES, st.integers(0, 1), st.integers(1, 5))
GROWTH = st.tuples(st.just("produce"), NAMES, st.integers(0, 1), st.integers(1, 5))
SIGHT = st.tuples(st.sampled_from(["hide", "show", "add"]), NAMES)
QUERY = st.tuples(st.sampled_from(["step", "step", "give up", "restart"]))
ANEW = st.tuples(st.just("anew"), NAMES)


def runs(*actions: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(*actions), min_size=10, max_size=40)


@settings(max_examples=300, deadline=None)
@given(
    st.booleans(),
    st.one_of(
        runs(GROWTH, SIGHT, QUERY), runs(LOGS, LOGS, SIGHT, QUERY), runs(LOGS, LOGS, SIGHT, QUERY, ANEW)
    ),
)
def test_whatever_happens_nothing_is_read_twice_and_nothing_is_lost_in_silence(
    fail_on_data_loss: bool, actions: list[Any]
) -> None:
    cluster = ModelCluster()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "Cluster", lambda _: cluster)
        reading = ModelQuery(cluster, failondataloss=str(fail_on_data_loss).lower())
        with closing(reading):
            for name in "ab":
                cluster.create(name, 1)
                grow(cluster, name, 3)
            reading.step()
            created_anew = False
            for action in actions:
                created_anew |= action[0] == "anew"
                try:
                    act(cluster, reading, action)
                except DataLossError:
                    check_that_something_is_wrong(cluster, reading)
                    reading.restart()
            for topic in cluster.topics.values():
                topic.is_hidden = False
            lost = every_record(cluster) - set(reading.read) - still_there(cluster)
            try:
                while reading.step():
                    pass
            except DataLossError:
                assert lost or created_anew
                return
            assert set(reading.read.values()) <= {1}
            assert still_there(cluster) <= set(reading.read)
            if not created_anew:
                assert reading.losses["rows"] == len(lost)
            assert reading.losses["rows"] >= len(lost)
            assert not (fail_on_data_loss and lost)


def act(cluster: ModelCluster, reading: ModelQuery, action: Any) -> None:
    what, *rest = action
    if what in {"step", "give up"}:
        reading.step(logs=what == "step")
    elif what == "restart":
        reading.restart()
    else:
        change(cluster, what, *rest)


def change(cluster: ModelCluster, what: str, name: str, partition: int = 0, rows: int = 0) -> None:
    topic = cluster.topics[name]
    if what == "anew":
        cluster.create(name, 1)
    elif what == "add":
        topic.logs[len(topic.logs)] = ModelLog()
    elif what in {"hide", "show"}:
        topic.is_hidden = what == "hide"
    elif partition in topic.logs:
        log = topic.logs[partition]
        if what == "produce":
            log.end += rows
        else:  # all but the last ones
            log.start = max(log.start, log.end + 1 - rows)


def still_there(cluster: ModelCluster) -> set[Record]:
    return {
        (topic.topic_id, partition, offset)
        for topic in cluster.topics.values()
        for partition, log in topic.logs.items()
        for offset in range(log.start, log.end)
    }


def check_that_something_is_wrong(cluster: ModelCluster, reading: ModelQuery) -> None:
    """A query fails only where a part is out of sight, a topic is another one, or unread records are gone."""
    positions: Any = reading.log[-1]["positions"]
    ids: Any = reading.log[-1]["splits"]
    is_other = any(topic.topic_id != ids.get(name) for name, topic in cluster.topics.items())
    hidden = [topic.is_hidden for topic in cluster.topics.values()]
    removed = any(
        log.start > positions.get(name, {}).get(str(partition), 0)
        for name, topic in cluster.topics.items()
        for partition, log in topic.logs.items()
    )
    assert is_other or removed or len(set(hidden)) > 1

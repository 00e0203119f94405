"""A coordinator of consumer groups that says what a test tells it to: a part of `tests.scripted_kafka`."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from kafka.protocol.consumer import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

from headwater.enumerators.kafka.client.metadata import BrokerAddress

COORDINATOR_LOADING = 14
NO_COORDINATOR = 15
NOT_COORDINATOR = 16
UNKNOWN_MEMBER = 25
GROUP_NOT_AUTHORIZED = 30
UNSTABLE_OFFSET = 88

_SILENCE_S = 30


class Commit(NamedTuple):
    """What the coordinator was asked to set."""

    node: int
    group: str
    offsets: dict[tuple[str, int], int]


class ScriptedGroups:
    """The groups of a small cluster.

    Attributes:
        node: the coordinator's.
        offsets: what is committed, by group.
        lookup_errors: error codes for the next requests for the coordinator.
        errors: error codes for the next OffsetCommit and OffsetFetch, for the whole group.
        topic_errors: by topic, the error code for its partitions in OffsetCommit and OffsetFetch.
        commits: every OffsetCommit request, as it arrived.
        speaks: if it is not set, OffsetCommit requests arrive and are not answered until it is.
    """

    VERSIONS: ClassVar[dict[int, tuple[int, int]]] = {
        OffsetCommitRequest.API_KEY: (2, 9),
        OffsetFetchRequest.API_KEY: (1, 9),
        FindCoordinatorRequest.API_KEY: (0, 6),
    }
    REQUESTS: ClassVar[dict[int, Any]] = {
        request.API_KEY: request
        for request in (OffsetCommitRequest, OffsetFetchRequest, FindCoordinatorRequest)
    }

    def __init__(self, nodes: Mapping[int, BrokerAddress]) -> None:
        self.node = min(nodes)
        self.offsets: dict[str, dict[tuple[str, int], int]] = {}
        self.lookup_errors: deque[int] = deque()
        self.errors: deque[int] = deque()
        self.topic_errors: dict[str, int] = {}
        self.commits: queue.Queue[Commit] = queue.Queue()
        self.speaks = threading.Event()
        self.speaks.set()
        self._nodes = nodes

    def answer(self, node: int, key: int, request: Any) -> Any:
        if key == FindCoordinatorRequest.API_KEY:
            address = self._nodes[self.node]
            error = self.lookup_errors.popleft() if self.lookup_errors else 0
            return FindCoordinatorResponse(
                error_code=error, node_id=self.node, host=address.host, port=address.port
            )
        if key == OffsetFetchRequest.API_KEY:
            return self._fetch(node, request)
        return self._commit(node, request)

    def _error(self, node: int) -> int:
        if node != self.node:
            return NOT_COORDINATOR
        return self.errors.popleft() if self.errors else 0

    def _fetch(self, node: int, request: Any) -> Any:
        error = self._error(node)
        committed = self.offsets.get(request.group_id, {})
        kind = OffsetFetchResponse.OffsetFetchResponseTopic
        part = kind.OffsetFetchResponsePartition
        topics = [
            kind(
                name=topic.name,
                partitions=[
                    part(
                        partition_index=index,
                        committed_offset=committed.get((topic.name, index), -1),
                        metadata="",
                        error_code=self.topic_errors.get(topic.name, 0),
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
        return OffsetFetchResponse(topics=[] if error else topics, error_code=error)

    def _commit(self, node: int, request: Any) -> Any:
        asked = {
            (topic.name, part.partition_index): part.committed_offset
            for topic in request.topics
            for part in topic.partitions
        }
        self.commits.put(Commit(node, request.group_id, asked))
        self.speaks.wait(_SILENCE_S)
        error = self._error(node)
        errors = {(topic, index): error or self.topic_errors.get(topic, 0) for topic, index in asked}
        self.offsets.setdefault(request.group_id, {}).update(
            {tp: offset for tp, offset in asked.items() if not errors[tp]}
        )
        kind = OffsetCommitResponse.OffsetCommitResponseTopic
        part = kind.OffsetCommitResponsePartition
        return OffsetCommitResponse(
            topics=[
                kind(
                    name=topic.name,
                    partitions=[
                        part(
                            partition_index=each.partition_index,
                            error_code=errors[topic.name, each.partition_index],
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

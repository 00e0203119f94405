"""What an enumerator looks for, as the options say it.

Needs no library: the driver checks options before anything is connected.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.offsets_initializer import OffsetsInitializer
from headwater.enumerators.kafka.subscription import Subscription


@dataclass(frozen=True, kw_only=True, slots=True)
class LookupSettings:
    """What to look for.

    Attributes:
        client: how to reach the cluster.
        subscription: what is read.
        starting: where the first partitions begin.
        ending: where a batch read ends; None in a stream.
        num_retries: how often to look again before an odd answer (a topic gone, a log shorter than it was) is
            believed.
        retry_interval_ms: how long to wait in between.
        discovery_interval_ms: how old the list of partitions may be.
        accept_new_topic_ids: whether a topic that has another id than in the checkpoint when the query starts
            is the same one, mirrored.
        commit_to_group: the consumer group to which the positions of committed batches are committed, for
            tools that show lag; None for none.
    """

    client: ClientConfig
    subscription: Subscription
    starting: OffsetsInitializer
    ending: OffsetsInitializer | None
    num_retries: int = 3
    retry_interval_ms: int = 1_000
    discovery_interval_ms: int = 1_000
    accept_new_topic_ids: bool = False
    commit_to_group: str | None = None

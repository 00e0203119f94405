"""What an enumerator looks for, as the options say it.

Needs no library: the driver checks options before anything is connected.
"""

from __future__ import annotations

from headwater.core.options import Spec, boolean, duration_ms, integer, option, text
from headwater.core.source import Boundedness
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.offsets_initializer import OffsetsInitializer
from headwater.enumerators.kafka.subscription import Subscription


class LookupSettings(Spec):
    """What to look for.

    Attributes:
        client: how to reach the cluster.
        subscription: what is read.
        starting: where the first partitions begin.
        ending: where a batch read ends; None in a stream.
        discovery_interval_ms: how old the list of partitions may be.
    """

    client: ClientConfig
    subscription: Subscription
    starting: OffsetsInitializer
    ending: OffsetsInitializer | None
    discovery_interval_ms: int = 1_000
    accept_new_topic_ids: bool = option(
        "acceptNewTopicIds",
        "For one start, after a move to a mirrored cluster that keeps the offsets of records: a topic that "
        "has another id than in the checkpoint is the same one, and goes on at its positions.",
        default=False,
        parse=boolean,
        only=Boundedness.CONTINUOUS_UNBOUNDED,
    )
    commit_to_group: str | None = option(
        "commitOffsetsToGroup",
        "Commit the positions of committed batches to this consumer group, for tools that show lag: see "
        "[consumer-groups.md](consumer-groups.md). The group must have no members.",
        default=None,
        parse=text,
        only=Boundedness.CONTINUOUS_UNBOUNDED,
        after="maxInflatedBatchBytes",
    )
    num_retries: int = option(
        "fetchOffset.numRetries",
        "How often an odd answer about offsets is asked for again before it is believed.",
        default=3,
        parse=integer(),
        after="kafkaConsumer.pollTimeoutMs",
    )
    retry_interval_ms: int = option(
        "fetchOffset.retryIntervalMs",
        "How long to wait in between.",
        default=1_000,
        parse=duration_ms,
        after="fetchOffset.numRetries",
    )

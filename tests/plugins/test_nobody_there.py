"""Addresses at which nothing listens: an error after seconds, not after the deadline of an outage."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.core import retry
from headwater.core.errors import DeadlineError
from headwater.core.source import Boundedness
from headwater.testing.engine import MicroBatchEngine, read_batch
from headwater.testing.making import configured
from local_kafka_config import free_port

AWS = {"region": "eu-west-1", "accessKeyId": "id", "secretAccessKey": "key"}
OPTIONS = {
    "nats": ("servers", "nats://127.0.0.1:{}", {"streams": "orders"}),
    "redis": ("url", "redis://127.0.0.1:{}", {"keys": "orders"}),
    "rabbitmq": ("servers", "rabbitmq-stream://127.0.0.1:{}", {"streams": "orders"}),
    "kinesis": ("endpointUrl", "http://127.0.0.1:{}", {"streams": "orders", **AWS}),
}


@pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])
@pytest.mark.parametrize("source", list(OPTIONS))
def test_where_nothing_has_ever_answered_it_is_said_in_seconds(
    source: str, stream: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(retry, "_FIRST_ANSWER_MS", 200)
    option, url, more = OPTIONS[source]
    options = {option: url.format(free_port()), **more}

    def read() -> None:
        if stream:
            state = {"stateLocation": str(tmp_path)} if source == "kinesis" else {}
            MicroBatchEngine.of(source, options | state).run()
        else:
            read_batch(configured(source, options, Boundedness.BOUNDED))

    with pytest.raises(DeadlineError, match=r"nothing has ever answered there, .* check the address"):
        read()

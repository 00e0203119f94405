"""Messages a second of one MQTT session: a bare paho subscriber, and the way into the segment log.

    python -m benchmarks.mqtt [--messages 50000] [--rounds 3] [--spark]

Both take the same messages of quality 1 from a session that holds them, and acknowledge each by hand: the
bare subscriber at once in its callback, headwater's stager once the message is durable on the local disk.
Rates are those of the clock, with the broker on the other core, and of the processor time of the process
that takes them. With ``--spark`` also how long a message takes from being published to the sink of a stream
with a trigger of 1 s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import headwater as hw
from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.source import Boundedness
from headwater.enumerators.mqtt.sessions import MqttSessionSplit
from headwater.readers.mqtt.client import MqttClient, MqttClients
from headwater.readers.runtime.staging.stager import Stager

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from local_mqtt import LocalMqtt

PAYLOAD_BYTES = 200
TOPIC = "load/1"
SPLIT = MqttSessionSplit("load")
LATENCY_S = 30
PUBLISHED_PER_S = 100


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    # The session holds all messages before they are taken.
    with LocalMqtt(more="max_queued_messages 0\n") as broker, tempfile.TemporaryDirectory() as folder:
        for keys in (False, True):
            compare(broker, Path(folder), given.messages, given.rounds, keys=keys)
        if given.spark:
            delays = latencies(broker, Path(folder))
            middle, late = statistics.median(delays), statistics.quantiles(delays, n=20)[-1]
            print(f"from publish to sink, trigger 1 s: median {middle:.2f} s, 95 of 100 below {late:.2f} s")


def compare(broker: LocalMqtt, folder: Path, messages: int, rounds: int, *, keys: bool) -> None:
    """Let both take messages in turns, and print their rates."""
    takers: dict[str, Callable[[MqttSource, int], None]] = {"bare paho": bare, "headwater": staged}
    by_clock: dict[str, list[float]] = {name: [] for name in takers}
    by_core: dict[str, list[float]] = {name: [] for name in takers}
    for number in range(rounds):
        for name, take in takers.items():
            source = configured(broker, folder / f"{name}-{keys}-{number}", keys=keys)
            fill(broker, source, messages)
            began, began_core = time.perf_counter(), time.process_time()
            take(source, messages)
            by_clock[name].append(messages / (time.perf_counter() - began))
            by_core[name].append(messages / (time.process_time() - began_core))
    print(f"messageKey {'payload:id' if keys else 'none'}:")
    for name in takers:
        clock, core = statistics.median(by_clock[name]), statistics.median(by_core[name])
        print(f"  {name:10} {clock:>8,.0f} messages/s {core:>8,.0f} messages/s a core")
    ratio = statistics.median(
        ours / theirs for theirs, ours in zip(by_clock["bare paho"], by_clock["headwater"], strict=True)
    )
    print(f"  ratio      {ratio:.2f}", flush=True)


def configured(broker: LocalMqtt, folder: Path, *, keys: bool) -> MqttSource:
    options = {
        "broker": broker.url,
        "topics": TOPIC,
        "clientid": SPLIT.client_id,
        "statelocation": str(folder),
    }
    if keys:
        options["messagekey"] = "payload:id"
    made = configure_mqtt(options, Boundedness.CONTINUOUS_UNBOUNDED).source
    assert isinstance(made, MqttSource)
    return made.for_query("q")


def fill(broker: LocalMqtt, source: MqttSource, count: int) -> None:
    """Let the session hold so many messages."""
    client = MqttClient(source.settings)
    client.open(SPLIT)
    client.begin()
    client.close()
    filling = "x" * (PAYLOAD_BYTES - 20)
    broker.publish((TOPIC, json.dumps({"id": at, "f": filling}).encode()) for at in range(count))


def bare(source: MqttSource, count: int) -> None:
    """Take messages with a subscriber that does nothing but acknowledge."""
    client = Client(
        CallbackAPIVersion.VERSION2, SPLIT.client_id, protocol=MQTTProtocolVersion.MQTTv5, manual_ack=True
    )
    taken = 0
    done = threading.Event()

    def on_message(client: Client, _: object, message: MQTTMessage) -> None:
        nonlocal taken
        client.ack(message.mid, message.qos)
        taken += 1
        if taken == count:
            done.set()

    client.on_message = on_message
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = 0xFFFFFFFF
    properties.ReceiveMaximum = source.settings.in_flight
    client.connect(source.settings.host, source.settings.port, clean_start=False, properties=properties)
    client.loop_start()
    done.wait()
    client.disconnect()
    client.loop_stop()


def staged(source: MqttSource, count: int) -> None:
    """Take messages into the segment log, and acknowledge them."""
    stager = Stager(source.staging("q"), "load", SPLIT, MqttClients(source.settings), source.remedy)
    stager.take_over()
    stager.connect()
    taken = 0
    while taken < count:
        delivery = stager.poll(1_000)
        if delivery is not None:
            stager.stage(delivery)
            taken += len(delivery.tokens)
    stager.disconnect()


def latencies(broker: LocalMqtt, folder: Path) -> list[float]:
    """Return how many seconds messages took from being published to the sink, while they kept coming."""
    spark = hw.session("benchmark", master="local[2]")
    options = {"source": "mqtt", "broker": broker.url, "topics": "now/#", "clientId": "now"}
    options |= {"stateLocation": str(folder / "state"), "receiverIdleTimeout": "10s"}
    delays: list[float] = []

    def sink(rows: Any, _: int) -> None:
        sent = [float(row.payload) for row in rows.collect()]
        now = time.time()
        delays.extend(now - at for at in sent)

    stream = spark.readStream.format("headwater").options(**options).load()
    writer = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(processingTime="1 second").start()
    warm = publish_times(broker, LATENCY_S)
    publish_times(broker, LATENCY_S)
    query.stop()
    return delays[warm:]


def publish_times(broker: LocalMqtt, seconds: int) -> int:
    """Publish the time at a steady rate; return how many messages that were."""
    until = time.monotonic() + seconds
    sent = 0
    while time.monotonic() < until:
        sent += broker.publish(("now/1", repr(time.time()).encode()) for _ in range(PUBLISHED_PER_S // 10))
        time.sleep(0.1)
    return sent


if __name__ == "__main__":
    main()

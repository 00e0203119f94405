"""Messages a second of one MQTT session: a bare paho subscriber, and the way into the segment log.

python -m benchmarks.mqtt [--messages 20000] [--rounds 3]

Both take the same messages of quality 1 from a session that holds them, and acknowledge each by hand: the
bare subscriber at once in its callback, headwater's stager once the message is durable on the local disk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headwater.connector.sources.mqtt.configure import configure_mqtt
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    # The session holds all messages before they are taken.
    with LocalMqtt(more="max_queued_messages 0\n") as broker, tempfile.TemporaryDirectory() as folder:
        for keys in (False, True):
            rates: dict[str, list[float]] = {"bare paho": [], "headwater": []}
            for number in range(given.rounds):
                for name, found in rates.items():
                    source = configured(broker, Path(folder) / f"{name}-{keys}-{number}", keys=keys)
                    fill(broker, source, given.messages)
                    take = bare if name == "bare paho" else staged
                    found.append(given.messages / take(source, given.messages))
            medians = {name: statistics.median(found) for name, found in rates.items()}
            shown = ", ".join(f"{name} {rate:,.0f}" for name, rate in medians.items())
            ratio = statistics.median(
                ours / theirs for theirs, ours in zip(rates["bare paho"], rates["headwater"], strict=True)
            )
            print(
                f"messageKey {'given' if keys else 'none'}: {shown} messages/s, ratio {ratio:.2f}", flush=True
            )


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


def bare(source: MqttSource, count: int) -> float:
    """Return the seconds that a subscriber takes which does nothing but acknowledge."""
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
    began = time.perf_counter()
    client.connect(source.settings.host, source.settings.port, clean_start=False, properties=properties)
    client.loop_start()
    done.wait()
    seconds = time.perf_counter() - began
    client.disconnect()
    client.loop_stop()
    return seconds


def staged(source: MqttSource, count: int) -> float:
    """Return the seconds until all messages are in the segment log, and acknowledged."""
    stager = Stager(source.staging("q"), "load", SPLIT, MqttClients(source.settings))
    began = time.perf_counter()
    stager.take_over()
    stager.connect()
    taken = 0
    while taken < count:
        delivery = stager.poll(1_000)
        if delivery is not None:
            stager.stage(delivery)
            taken += len(delivery.tokens)
    seconds = time.perf_counter() - began
    stager.disconnect()
    return seconds


if __name__ == "__main__":
    main()

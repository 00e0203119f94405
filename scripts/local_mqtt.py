"""A real MQTT broker for tests and examples: mosquitto, with its default limits, on a free port.

python scripts/local_mqtt.py [--port 1883]     # until Ctrl-C
"""

from __future__ import annotations

import argparse
import getpass
import shutil
import socket
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from paho.mqtt.client import Client, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from local_kafka_config import free_port
from local_server import TIMEOUT_S, LocalServer

__all__ = ["LocalMqtt"]

CONFIG = """
listener {port} 127.0.0.1
allow_anonymous {anonymous}
user {user}
persistence true
persistence_location {folder}/
log_dest stderr
"""
ATTEMPTS = 5


class LocalMqtt(LocalServer):
    """A broker in a folder of its own.

    After `stop`, `start` goes on with the sessions and messages that were saved.

    Args:
        port: 0 for a free one.
        anonymous: whether it lets clients in without a password.
        more: lines that come behind those of the configuration, such as another listener.
    """

    def __init__(self, port: int = 0, *, anonymous: bool = True, more: str = "") -> None:
        super().__init__("mqtt")
        self._anonymous = anonymous
        self._more = more
        # A port that was asked for stays, and so does one that the clients know already.
        self._keeps_port = port != 0
        self.port = port or free_port()

    @property
    def url(self) -> str:
        """What the option ``broker`` takes."""
        return f"mqtt://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Stop, lose all sessions and messages, and start."""
        self.stop()
        (self._folder / "mosquitto.db").unlink(missing_ok=True)
        self.start()

    def _launch(self) -> bool:
        for _ in range(1 if self._keeps_port else ATTEMPTS):
            if super()._launch():
                self._keeps_port = True
                return True
            # Another program may have taken the free port before mosquitto did.
            if not self._keeps_port:
                self.stop()
                self.port = free_port()
        return False

    def _command(self) -> Sequence[str | Path]:
        config = CONFIG.format(
            port=self.port,
            folder=self._folder,
            anonymous=str(self._anonymous).lower(),
            user=getpass.getuser(),
        )
        (self._folder / "mosquitto.conf").write_text(config + self._more)
        return [shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", self._folder / "mosquitto.conf"]

    def _answers(self) -> bool:
        # It says nowhere else that it has started.
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def publish(
        self,
        messages: Iterable[tuple[str, bytes]],
        *,
        qos: int = 1,
        key_property: str | None = None,
        retain: bool = False,
    ) -> int:
        """Publish messages, and wait until the broker has them all; return how many.

        Args:
            messages: topics and payloads.
            qos: of all of them.
            key_property: the user property that gets the message's number.
            retain: whether the broker keeps the last one of each topic.
        """
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        client.max_inflight_messages_set(1_000)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        sent: list[MQTTMessageInfo] = []
        for number, (topic, payload) in enumerate(messages):
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            if key_property is not None:
                properties.UserProperty = (key_property, str(number))
            sent.append(client.publish(topic, payload, qos=qos, retain=retain, properties=properties))
        for info in sent:
            info.wait_for_publish(TIMEOUT_S)
            if not info.is_published():
                raise RuntimeError(f"the broker did not take a message within {TIMEOUT_S} s")
        client.disconnect()
        client.loop_stop()
        return len(sent)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=1883)
    with LocalMqtt(parser.parse_args().port) as broker:
        print(f"{broker.url} - Ctrl-C ends it", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

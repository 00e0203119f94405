"""A real MQTT broker for tests and examples: mosquitto, on a free port of this machine.

python scripts/local_mqtt.py [--port 1883]     # until Ctrl-C
"""

from __future__ import annotations

import argparse
import getpass
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from paho.mqtt.client import Client, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

__all__ = ["LocalMqtt"]

CONFIG = """
listener {port} 127.0.0.1
allow_anonymous {anonymous}
user {user}
max_queued_messages 0
max_inflight_messages 0
persistence true
persistence_location {folder}/
log_dest stderr
"""
TIMEOUT_S = 120
"""Only a broker that hangs takes so long, on a busy machine too."""

ATTEMPTS = 5


class LocalMqtt:
    """A broker in a folder of its own. A context manager.

    After `stop`, `start` goes on with the sessions and messages that were saved.

    Args:
        port: 0 for a free one.
        anonymous: whether it lets clients in without a password.
        more: lines that come behind those of the configuration, such as another listener.
    """

    def __init__(self, port: int = 0, *, anonymous: bool = True, more: str = "") -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="headwater-mqtt-"))
        self._anonymous = anonymous
        self._more = more
        # A port that was asked for stays, and so does one that the clients know already.
        self._keeps_port = port != 0
        self.port = port or _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What the option ``broker`` takes."""
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and return when it answers."""
        for _ in range(1 if self._keeps_port else ATTEMPTS):
            if self._begin():
                self._keeps_port = True
                return
            # Another program may have taken the free port before mosquitto did.
            if not self._keeps_port:
                self.port = _free_port()
        raise RuntimeError(f"mosquitto did not start: {(self._folder / 'log').read_text()[-2000:]}")

    def _begin(self) -> bool:
        """Start mosquitto; return whether it answers, False if it has ended or takes too long."""
        config = CONFIG.format(
            port=self.port,
            folder=self._folder,
            anonymous=str(self._anonymous).lower(),
            user=getpass.getuser(),
        )
        (self._folder / "mosquitto.conf").write_text(config + self._more)
        program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-c", str(self._folder / "mosquitto.conf")], stdout=log, stderr=log
            )
        # It has started when its port answers: it says so nowhere else.
        deadline = time.monotonic() + TIMEOUT_S
        never = threading.Event()
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            never.wait(0.02)
        return False

    def stop(self) -> None:
        """End it in good order: sessions and their messages are saved."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(TIMEOUT_S)
            self._process = None

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

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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

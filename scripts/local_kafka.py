"""A real Kafka on this machine, from Kafka's own jars: for tests, the demo and the benchmarks.

As a library::

    with LocalKafka() as kafka:
        kafka.create_topic("orders", partitions=4)
        kafka.produce("orders", [b"first", b"second"])
        rows = (
            spark.read.format("headwater")
            .option("source", "kafka")
            .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
            .option("subscribe", "orders")
            .load()
        )

As a program, until Ctrl-C: ``python scripts/local_kafka.py --port 9092 --produce 1000/s``.
"""

from __future__ import annotations

import argparse
import atexit
import base64
import json
import shutil
import signal
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from local_kafka_broker import Broker
from local_kafka_client import KafkaCluster, Transaction
from local_kafka_config import (
    SASL_MECHANISMS,
    Ports,
    Security,
    free_port,
    host_of,
    properties,
    scram_credentials,
)
from local_kafka_jars import LocalKafkaError
from local_kafka_orders import OrderProducer, per_second
from local_kafka_tls import CLIENT_NAME, KEY_PASSWORD, TlsFiles, make_certificates

__all__ = [
    "CLIENT_NAME",
    "KEY_PASSWORD",
    "SASL_MECHANISMS",
    "Broker",
    "LocalKafka",
    "LocalKafkaError",
    "TlsFiles",
    "Transaction",
    "unsecured_token",
]


class LocalKafka(KafkaCluster):
    """One or more brokers in processes of their own, as a context manager. Its end deletes all data.

    Broker 1 is the cluster's controller too. The others may be stopped, killed and paused at will. Without
    broker 1 the leaders of the moment go on, but no new leader is elected. The processes never outlive this
    one, however it ends.

    Args:
        brokers: how many; their ids are 1, 2, ...
        racks: the rack of each broker (``broker.rack``); followers in a client's rack serve its fetches.
        tls: also listen with TLS (`bootstrap`\\ ``("SSL")``); the certificates are in `tls`. A client
            certificate is asked for, not demanded.
        users: names and passwords; also listen with SASL (``SASL_PLAINTEXT``, with ``tls`` also
            ``SASL_SSL``): PLAIN, SCRAM-SHA-256 and -512, and OAUTHBEARER with unsecured tokens
            (`unsecured_token`).
        authorize: let ACLs decide (`KafkaAdmin.allow`). A client without a name, so each client on PLAINTEXT,
            may do everything.
        config: more lines for ``server.properties`` of each broker.
        heap_mb: the most heap of one broker.
        jvm_options: more options for its JVM. By default it compiles quickly, for brokers that end soon.
        port: of broker 1's PLAINTEXT listener; the others count up from it. By default a free one for each.
        data_dir: where to keep data and logs; they then survive `close`. A temporary folder by default.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        racks: Sequence[str] | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        authorize: bool = False,
        config: Mapping[str, str] | None = None,
        heap_mb: int = 512,
        jvm_options: Sequence[str] = ("-XX:TieredStopAtLevel=1",),
        port: int | None = None,
        data_dir: Path | None = None,
    ) -> None:
        self._keep = data_dir is not None
        self.folder = data_dir or Path(tempfile.mkdtemp(prefix="local-kafka-"))
        self.tls: TlsFiles | None = make_certificates(self.folder / "tls") if tls else None
        self._security = Security(self.tls, dict(users or {}), authorize)
        self._ports = {
            node: Ports(free_port() if port is None else port + node - 1) for node in range(1, brokers + 1)
        }
        options = (f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true", *jvm_options)
        self.brokers: Mapping[int, Broker] = {
            node: Broker(
                node,
                ports.plaintext,
                self.folder / f"broker-{node}",
                {
                    **properties(node, self._ports, racks[node - 1] if racks else None, self._security),
                    **(config or {}),
                },
                options,
            )
            for node, ports in self._ports.items()
        }
        super().__init__(self.bootstrap("PLAINTEXT"))

    @property
    def listeners(self) -> tuple[str, ...]:
        """The names that `bootstrap` takes."""
        return self._security.listeners

    def bootstrap(self, listener: str = "PLAINTEXT") -> str:
        """Return ``kafka.bootstrap.servers`` for PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.

        Valid before the start, and after every restart.
        """
        if listener not in self.listeners:
            raise LocalKafkaError(
                f"this cluster has no listener {listener}, only {', '.join(self.listeners)}"
            )
        return ",".join(
            f"{host_of(listener)}:{getattr(ports, listener.lower())}" for ports in self._ports.values()
        )

    def start(self) -> Self:
        """Start all brokers that do not run, and wait until they take requests.

        The first start of all downloads Kafka's jars.

        Raises:
            LocalKafkaError: Java or the jars are missing, or a broker did not come up; with the end of its
                log.
        """
        atexit.register(self.close)
        cluster_id = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        scram = scram_credentials(self._security.users)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda broker: broker.format(cluster_id, scram), self.brokers.values()))
        for broker in self.brokers.values():
            broker.launch()
        for broker in self.brokers.values():
            broker.wait_ready()
        return self

    def stop(self) -> None:
        """Stop all brokers in good order. Data and ports stay: `start` goes on from there."""
        self._all(Broker.stop)

    def kill(self) -> None:
        """End all brokers at once (SIGKILL)."""
        self._all(Broker.kill)

    def restart(self) -> None:
        """Stop the brokers that run, and start all."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze all brokers: connections stay open, nothing answers, as in a network outage."""
        self._all(Broker.pause)

    def resume(self) -> None:
        """End a `pause`."""
        self._all(Broker.resume)

    def close(self) -> None:
        """End everything; delete data and logs, unless ``data_dir`` was given. May be called again."""
        atexit.unregister(self.close)
        self._all(Broker.stop if self._keep else Broker.kill)
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines of each broker's log."""
        return "\n".join(
            f"--- broker {node}\n{broker.log_tail(lines)}" for node, broker in self.brokers.items()
        )

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _all(self, action: Callable[[Broker], None]) -> None:
        # The controller last: the others need it to stop in good order.
        for broker in reversed([*self.brokers.values()]):
            action(broker)


def unsecured_token(user: str, *, lifetime_s: int = 3600) -> str:
    """Return a token for OAUTHBEARER that Kafka's unsecured validator takes.

    It is a JWS without a signature (RFC 7515, appendix A.5).
    """
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + lifetime_s})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, ""])


def _name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a cluster until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description="Run a real Kafka on this machine until Ctrl-C.")
    parser.add_argument(
        "--port", type=int, default=9092, help="of the PLAINTEXT listener (default 9092, 0 for a free one)"
    )
    parser.add_argument("--brokers", type=int, default=1, help="how many (default 1); ports count up")
    parser.add_argument(
        "--topic",
        type=_name_and_value,
        action="append",
        default=[],
        metavar="NAME=PARTITIONS",
        help="create a topic if it is missing",
    )
    parser.add_argument(
        "--produce",
        type=per_second,
        metavar="RATE",
        help="write made-up orders as JSON to the topics, so many a second, such as 1000/s; without --topic "
        "to `orders` with 4 partitions",
    )
    parser.add_argument(
        "--user",
        type=_name_and_value,
        action="append",
        default=[],
        metavar="NAME=PASSWORD",
        help="also listen with SASL",
    )
    parser.add_argument("--tls", action="store_true", help="also listen with TLS")
    parser.add_argument("--data", type=Path, help="keep the data in this folder")
    parser.add_argument("--heap-mb", type=int, default=512, help="heap of one broker (default 512)")
    args = parser.parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with LocalKafka(
        args.brokers,
        tls=args.tls,
        users=dict(args.user),
        heap_mb=args.heap_mb,
        jvm_options=(),
        port=args.port or None,
        data_dir=args.data,
    ) as kafka:
        topics = args.topic or ([("orders", "4")] if args.produce else [])
        for name, partitions in topics:
            if name not in kafka.topics():
                kafka.create_topic(name, int(partitions))
        for listener in kafka.listeners:
            print(f"{listener:15} {kafka.bootstrap(listener)}", flush=True)
        for node, broker in kafka.brokers.items():
            print(f"broker {node:<8} process {broker.pid}", flush=True)
        if args.produce:
            named = ", ".join(name for name, _ in topics)
            print(f"orders          {args.produce}/s to {named}", flush=True)
        print(f"data and logs   {kafka.folder}\nCtrl-C ends it", flush=True)
        if args.produce:
            OrderProducer(kafka, [name for name, _ in topics], args.produce).run(ended)
        ended.wait()


if __name__ == "__main__":
    main()

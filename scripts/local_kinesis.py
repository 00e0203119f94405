"""A server with the protocol of Kinesis for tests and examples, on a free port: Kinesalite, by Node.js.

python scripts/local_kinesis.py [--port 4567]     # until Ctrl-C
python scripts/local_kinesis.py --fetch           # only installs it
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from local_kafka_config import free_port
from local_kafka_jars import cache_dir, locked
from local_server import TIMEOUT_S, LocalServer

__all__ = ["LocalKinesis"]

PACKAGE = "kinesalite@3.3.3"
MOST_RECORDS = 500
"""Of PutRecords."""
LOGIN = {"accessKeyId": "anybody", "secretAccessKey": "any-secret", "region": "eu-west-1"}


def modules() -> Path:
    """Install the server, once, and return the folder of its modules."""
    folder = cache_dir() / "kinesis"
    folder.mkdir(parents=True, exist_ok=True)
    ready = folder / "ready"
    # Looked at before the lock too: whoever has it may make something else, for minutes.
    if _is(ready):
        return folder / "node_modules"
    with locked():
        if not _is(ready):
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"npm could not install {PACKAGE}: {done.stderr[-2_000:]}")
            ready.write_text(PACKAGE)
    return folder / "node_modules"


def _is(ready: Path) -> bool:
    return ready.exists() and ready.read_text() == PACKAGE


class LocalKinesis(LocalServer):
    """A server in a folder of its own. After `stop` or `kill`, `start` goes on with what it has stored.

    Args:
        port: 0 for a free one.
        reads: how many GetRecords of a shard it answers in a second; 0 for any number.
        iterator_ms: for how long an iterator can be used; 0 for 5 minutes.
    """

    def __init__(self, port: int = 0, *, reads: int = 0, iterator_ms: int = 0) -> None:
        super().__init__("kinesis")
        self.port = port or free_port()
        self._limits = {"reads": reads, "iteratorMs": iterator_ms}

    @property
    def url(self) -> str:
        """What the option ``endpointUrl`` takes."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """What the source needs to connect."""
        return {"endpointUrl": self.url, **LOGIN}

    def kill(self) -> None:
        """End it as a crash does (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(TIMEOUT_S)
            self._process = None

    def _command(self) -> Sequence[str | Path]:
        node = shutil.which("node") or "/usr/bin/node"
        times = {"createStreamMs": 1, "deleteStreamMs": 1, "updateStreamMs": 1, "shardLimit": 100_000}
        given = {"port": self.port, "path": str(self._folder / "data"), **times, **self._limits}
        return [node, Path(__file__).with_suffix(".js"), modules(), json.dumps(given)]

    def _answers(self) -> bool:
        try:
            self.ask("list_streams")
        except OSError:
            return False
        return True

    def ask(self, call: str, **request: Any) -> Any:
        """Return the answer to a call of boto3's client. An OSError if the server does not answer."""
        from botocore.exceptions import ConnectionError as NoConnectionError
        from botocore.exceptions import HTTPClientError

        try:
            return getattr(self._client(), call)(**request)
        except (HTTPClientError, NoConnectionError) as error:
            raise OSError(str(error)) from error

    def _client(self) -> Any:
        import boto3
        from botocore.config import Config

        if not hasattr(self, "_made"):
            self._made = boto3.Session().client(
                "kinesis",
                region_name=LOGIN["region"],
                endpoint_url=self.url,
                aws_access_key_id=LOGIN["accessKeyId"],
                aws_secret_access_key=LOGIN["secretAccessKey"],
                config=Config(retries={"total_max_attempts": 1}),
            )
        return self._made

    def create_stream(self, stream: str, shards: int = 1) -> None:
        """Create a stream, and wait until it is there."""
        self.ask("create_stream", StreamName=stream, ShardCount=shards)
        self._wait(stream)

    def create_stream_again(self, stream: str) -> None:
        """Create a stream that has just been deleted: in another second, which numbers tell apart only."""
        second = int(time.time())
        give_up_at = time.monotonic() + TIMEOUT_S
        while second == int(time.time()) or stream in self.ask("list_streams", Limit=10_000)["StreamNames"]:
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"stream {stream} does not go")
            threading.Event().wait(0.01)
        self.create_stream(stream)

    def _wait(self, stream: str) -> None:
        give_up_at = time.monotonic() + TIMEOUT_S
        while self.ask("describe_stream", StreamName=stream)["StreamDescription"]["StreamStatus"] != "ACTIVE":
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"stream {stream} does not become active")
            threading.Event().wait(0.01)

    def shards(self, stream: str) -> list[dict[str, Any]]:
        """Return all shards."""
        request = {"StreamName": stream}
        shards: list[dict[str, Any]] = []
        while True:
            answer = self.ask("list_shards", **request)
            shards += answer["Shards"]
            if "NextToken" not in answer:
                return shards
            request = {"NextToken": answer["NextToken"]}

    def open_shards(self, stream: str) -> list[dict[str, Any]]:
        """Return those that take records, by their keys."""
        opened = [
            each for each in self.shards(stream) if "EndingSequenceNumber" not in each["SequenceNumberRange"]
        ]
        return sorted(opened, key=lambda shard: int(shard["HashKeyRange"]["StartingHashKey"]))

    def split(self, stream: str, shard: dict[str, Any]) -> None:
        """Split a shard in the middle."""
        first, last = (int(shard["HashKeyRange"][f"{end}HashKey"]) for end in ("Starting", "Ending"))
        middle = str((first + last) // 2 + 1)
        self.ask("split_shard", StreamName=stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=middle)
        self._wait(stream)

    def merge(self, stream: str, shard: dict[str, Any], other: dict[str, Any]) -> None:
        """Merge two shards whose keys are beside each other, the lower ones first."""
        names = {"ShardToMerge": shard["ShardId"], "AdjacentShardToMerge": other["ShardId"]}
        self.ask("merge_shards", StreamName=stream, **names)
        self._wait(stream)

    def put(self, stream: str, records: Iterable[tuple[str, bytes]]) -> list[str]:
        """Put records, each with its partition key; return their sequence numbers."""
        entries = [{"PartitionKey": key, "Data": data} for key, data in records]
        numbers: list[str] = []
        for at in range(0, len(entries), MOST_RECORDS):
            answer = self.ask("put_records", StreamName=stream, Records=entries[at : at + MOST_RECORDS])
            numbers += [each["SequenceNumber"] for each in answer["Records"]]
        return numbers

    def stored(self, stream: str) -> list[tuple[str, str, str, bytes]]:
        """Return shard, sequence number, key and data of all records of a stream, in the order of shards."""
        found: list[tuple[str, str, str, bytes]] = []
        for shard in self.shards(stream):
            name = shard["ShardId"]
            start = {"StreamName": stream, "ShardId": name, "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self.ask("get_shard_iterator", **start)["ShardIterator"]
            while iterator:
                answer = self._records(iterator)
                found += [
                    (name, each["SequenceNumber"], each["PartitionKey"], each["Data"])
                    for each in answer["Records"]
                ]
                iterator = answer.get("NextShardIterator") if answer["Records"] else None
        return found

    def _records(self, iterator: str) -> Any:
        """Ask for records until the shard's limit of reads allows it: others may read the shard, too."""
        give_up_at = time.monotonic() + TIMEOUT_S
        while True:
            try:
                return self.ask("get_records", ShardIterator=iterator)
            except self._client().exceptions.ProvisionedThroughputExceededException:
                if time.monotonic() > give_up_at:
                    raise
            threading.Event().wait(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=4567)
    parser.add_argument("--fetch", action="store_true", help="only install it")
    given = parser.parse_args()
    if given.fetch:
        print(modules())
        return
    with LocalKinesis(given.port) as server:
        print(f"{server.url} - Ctrl-C ends it", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

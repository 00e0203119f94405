"""Stream JSON lines out of a folder into Parquet, exactly once, and delete the files that are committed.

Files are to be moved into the folder whole.

Run it:      python examples/files_stream.py /tmp/inbox /tmp/events
Beside it:   echo '{"user":"ann","amount":3}' > /tmp/event && mv /tmp/event /tmp/inbox/1.json
Ctrl-C ends it; start it again and it goes on. With --available-now it reads what is there and ends.
"""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

import headwater as hw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inbox")
    parser.add_argument("folder")
    parser.add_argument("--available-now", action="store_true")
    args = parser.parse_args()
    Path(args.inbox).mkdir(parents=True, exist_ok=True)

    spark = hw.session("files_stream", master="local[*]")

    events = (
        spark.readStream.format("headwater")
        .option("source", "files")
        .option("format", "json")
        .option("maxFilesPerTrigger", 1_000)
        .option("cleanSource", "delete")
        .schema("user string, amount bigint, _corrupt_record string")
        .load(args.inbox)
    )
    writer = (
        events.writeStream.format("parquet")
        .option("path", f"{args.folder}/rows")
        .option("checkpointLocation", f"{args.folder}/checkpoint")
    )
    if args.available_now:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime="1 second")
    query = writer.start()
    # Not inside `awaitTermination`: what Ctrl-C breaks off there fills the screen with tracebacks.
    ctrl_c = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: ctrl_c.set())
    while query.isActive and not ctrl_c.wait(1):
        pass
    query.stop()
    query.awaitTermination()  # raises what the query has failed with
    spark.stop()


if __name__ == "__main__":
    main()

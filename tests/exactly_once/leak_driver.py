"""Many streams beside each other, each on the board, in a process of its own: a test looks at its memory.

The one argument is JSON: ``conf``, ``master``, ``folder``, ``streams`` (options by name). Answers ``batches``
with how many have run of each stream, and ``heap`` with the bytes that the JVM holds after a collection.
"""

from __future__ import annotations

import gc
import json
import sys

import headwater as hw
from tests.exactly_once.sessions import session


def main() -> None:
    job = json.loads(sys.argv[1])
    spark = session(job)
    board = hw.Board(spark, port=0)
    queries = {}
    for name, options in job["streams"].items():
        reader = spark.readStream.format("headwater")
        if "schema" in options:
            reader = reader.schema(options.pop("schema"))
        frame = reader.options(**options).load()
        writer = frame.writeStream.format("noop").queryName(name)
        queries[name] = writer.option("checkpointLocation", f"{job['folder']}/{name}/checkpoint").start()
    assert spark._jvm is not None
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    for command in sys.stdin:
        for query in queries.values():
            if query.exception() is not None:
                raise RuntimeError(f"{query.name}: {query.exception()!s:.2000}")
        if command.strip() == "heap":
            # What Python has of the JVM's objects is in cycles, since py4j makes them: progress reports, with
            # the plans of their batches.
            gc.collect()
            spark._jvm.java.lang.System.gc()
            print(runtime.totalMemory() - runtime.freeMemory(), flush=True)
        else:
            ran = {
                name: (query.lastProgress or {"batchId": -1})["batchId"] + 1
                for name, query in queries.items()
            }
            print(json.dumps(ran), flush=True)
    for query in queries.values():
        query.stop()
    board.stop()
    spark.stop()


if __name__ == "__main__":
    main()

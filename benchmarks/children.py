"""A new Python process for each measurement that needs one: cold caches, and settings of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from benchmarks.bench import ROOT, BenchmarkError

__all__ = ["child_environment", "run_in_child"]

_STOP_TIMEOUT_S = 30


def run_in_child(task: Callable[..., Iterator[Any]], **arguments: object) -> Iterator[Any]:
    """Run a generator function in a new Python process, and yield what it yields, when it does.

    Leaving the iterator early ends the process, and with it the Spark that it started.

    Args:
        task: at the top of a module of `benchmarks`; yields what JSON can hold.
        arguments: its keyword arguments; what JSON can hold.

    Raises:
        BenchmarkError: the process failed; the message shows the end of what it wrote to stderr.
    """
    command = [
        sys.executable,
        "-m",
        "benchmarks.children",
        f"{task.__module__}:{task.__name__}",
        json.dumps(arguments),
    ]
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert child.stdout is not None
            for line in child.stdout:
                yield json.loads(line)
            code = child.wait()
        finally:
            _end(child)
        if code:
            log.seek(0)
            raise BenchmarkError(
                f"{task.__module__}.{task.__name__} ended with {code}:\n{''.join(log.readlines()[-60:])}"
            )


def child_environment() -> dict[str, str]:
    """Return the environment of a child, and of the Python processes that its Spark starts.

    They find headwater and the benchmarks, and have the same interpreter and time zone.
    """
    path = [str(ROOT), str(ROOT / "scripts"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TZ": "UTC",
    }


def _end(child: subprocess.Popen[str]) -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _main(task: str, arguments: str) -> None:
    """Be the child: results go to what was stdout, everything that is printed meanwhile to stderr."""
    with os.fdopen(os.dup(1), "w") as results:
        os.dup2(2, 1)
        module, _, function = task.partition(":")
        for result in getattr(import_module(module), function)(**json.loads(arguments)):
            print(json.dumps(result), file=results, flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])

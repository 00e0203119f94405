"""What was measured with what, on what."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import headwater
from headwater.connector.cpus import available_cpus
from local_kafka_jars import KAFKA_VERSION, java

__all__ = ["describe"]

_LIBRARIES = ("pyspark", "pyarrow", "numba", "numpy", "kafka-python", "cramjam")


def describe(peer_jars: Sequence[Path]) -> dict[str, object]:
    """Return date, command, machine and versions, for the results."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", *sys.argv]),
        "machine": {
            "cores": available_cpus(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
            "processor": _processor(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "headwater": headwater.__version__,
            "python": platform.python_version(),
            "java": _java_version(),
            "kafka": KAFKA_VERSION,
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
        "jvm_source": sorted(jar.name for jar in peer_jars),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def _java_version() -> str:
    said = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True).stderr
    return said.split('"')[1]

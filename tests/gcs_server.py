"""A server of Google Cloud Storage in this process: an emulator of PyPI, with an empty bucket."""

from __future__ import annotations

import os
from typing import Any, Self

from gcp_storage_emulator.server import create_server

from local_kafka_config import free_port

__all__ = ["GcsServer"]

# gcsfs asks Google itself what kind each bucket is, in another protocol, which the emulator does not have.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"


class GcsServer:
    """The emulator. A context manager."""

    def __init__(self) -> None:
        self._port = free_port()
        self._server = create_server("127.0.0.1", self._port, in_memory=True, default_bucket="spark")

    @property
    def storage_options(self) -> dict[str, Any]:
        """What fsspec needs to reach it."""
        return {"endpoint_url": f"http://127.0.0.1:{self._port}", "token": "anon"}

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

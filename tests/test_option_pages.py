"""Each option of a built-in source stands on its page, and each column where columns are fixed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headwater as hw

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = {
    "kafka": ("kafka.md", "options.md"),
    "http": ("http.md",),
    "hybrid": ("hybrid.md",),
    "mqtt": ("mqtt.md",),
    "nats": ("nats.md",),
    "kinesis": ("kinesis.md",),
    "rabbitmq": ("rabbitmq.md",),
    "redis": ("redis.md",),
    "files": ("files.md",),
    "demo": ("demo.md",),
    "postgres": ("postgres.md",),
}


def page(source: str) -> str:
    return "".join((DOCS / name).read_text() for name in PAGES[source])


@pytest.mark.parametrize("source", PAGES)
def test_every_option_of_the_source_stands_on_its_page(source: str) -> None:
    shown = re.findall(r"`([\w.-]+)", page(source))
    names = re.findall(r"^(\S+)", str(hw.options_of(source)), re.MULTILINE)
    assert len(names) > 5
    assert [name for name in names if name not in shown] == []


COLUMNS: dict[str, dict[str, str]] = {
    "kafka": {"kafka.bootstrap.servers": "localhost:1", "subscribe": "orders", "includeHeaders": "true"},
    "http": {"url": "http://localhost:1/items", "badPages": "column"},
    "mqtt": {"broker": "mqtt://localhost:1", "topics": "orders"},
    "rabbitmq": {
        "servers": "rabbitmq-stream://localhost:1",
        "streams": "orders",
        "includeHeaders": "true",
    },
    "redis": {"url": "redis://localhost:1", "keys": "orders"},
    "kinesis": {"streams": "orders"},
    "nats": {"servers": "nats://localhost:1", "streams": "orders", "includeHeaders": "true"},
    "demo": {},
}
"""Of sources whose columns are fixed: options with which they have all of them."""


@pytest.mark.parametrize("source", COLUMNS)
def test_every_column_of_the_source_stands_on_its_page(source: str) -> None:
    from headwater.tools.commands.peek import configured_for_batch

    columns = configured_for_batch(source, COLUMNS[source]).schema().names
    shown = re.findall(r"`(\w+)", page(source))
    assert columns
    assert [name for name in columns if name not in shown] == []

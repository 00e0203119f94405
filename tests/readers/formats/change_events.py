"""Change events as Debezium writes them: of a table of customers, from MySQL and from PostgreSQL."""

from __future__ import annotations

from typing import Any

ROW = {"id": 1004, "first_name": "Anne", "last_name": "Kretchmar", "email": "annek@noanswer.org"}
CHANGED = {**ROW, "first_name": "Anne Marie"}
SOURCE = {
    "version": "2.7.3.Final",
    "connector": "mysql",
    "name": "inventory",
    "ts_ms": 1465581029523,
    "snapshot": "false",
    "db": "inventory",
    "sequence": None,
    "table": "customers",
    "server_id": 223344,
    "gtid": None,
    "file": "mysql-bin.000003",
    "pos": 484,
    "row": 0,
    "thread": 7,
    "query": None,
}


def event(op: str, before: Any, after: Any, *, ts_ms: int = 1465581029523) -> dict[str, Any]:
    """Return an envelope."""
    return {
        "before": before,
        "after": after,
        "source": SOURCE,
        "transaction": {"id": "571", "total_order": 1, "data_collection_order": 1},
        "op": op,
        "ts_ms": ts_ms,
        "ts_us": ts_ms * 1000,
        "ts_ns": ts_ms * 1_000_000,
    }


EVENTS = [
    event("r", None, ROW),
    event("c", None, ROW),
    event("u", ROW, CHANGED),
    event("d", CHANGED, None),
    event("t", None, None),
]
"""A snapshot's row, a create, an update, a delete, a truncate."""


def _connect_field(name: str, kind: str, *, optional: bool) -> dict[str, Any]:
    return {"type": kind, "optional": optional, "field": name}


def with_schema(envelope: dict[str, Any]) -> dict[str, Any]:
    """Return an envelope as the JSON converter of Kafka Connect writes it with ``schemas.enable``."""
    columns = [
        _connect_field("id", "int32", optional=False),
        *(_connect_field(name, "string", optional=False) for name in ("first_name", "last_name", "email")),
    ]
    rows = [
        {
            "type": "struct",
            "fields": columns,
            "optional": True,
            "name": "inventory.inventory.customers.Value",
            "field": field,
        }
        for field in ("before", "after")
    ]
    fields = [
        *rows,
        _connect_field("op", "string", optional=False),
        _connect_field("ts_ms", "int64", optional=True),
    ]
    schema = {
        "type": "struct",
        "fields": fields,
        "optional": False,
        "name": "inventory.inventory.customers.Envelope",
    }
    return {"schema": schema, "payload": envelope}


AVRO_ENVELOPE: dict[str, Any] = {
    "type": "record",
    "name": "Envelope",
    "namespace": "inventory.inventory.customers",
    "fields": [
        {
            "name": "before",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "Value",
                    "fields": [
                        {"name": "id", "type": "int"},
                        {"name": "first_name", "type": "string"},
                        {"name": "last_name", "type": "string"},
                        {"name": "email", "type": "string"},
                    ],
                    "connect.name": "inventory.inventory.customers.Value",
                },
            ],
            "default": None,
        },
        {"name": "after", "type": ["null", "Value"], "default": None},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "namespace": "io.debezium.connector.mysql",
                "fields": [
                    {"name": "version", "type": "string"},
                    {"name": "connector", "type": "string"},
                    {"name": "name", "type": "string"},
                    {"name": "ts_ms", "type": "long"},
                    {
                        "name": "snapshot",
                        "type": [
                            {
                                "type": "string",
                                "connect.version": 1,
                                "connect.parameters": {"allowed": "true,last,false,incremental"},
                                "connect.default": "false",
                                "connect.name": "io.debezium.data.Enum",
                            },
                            "null",
                        ],
                        "default": "false",
                    },
                    {"name": "db", "type": "string"},
                    {"name": "table", "type": ["null", "string"], "default": None},
                    {"name": "pos", "type": "long"},
                ],
                "connect.name": "io.debezium.connector.mysql.Source",
            },
        },
        {
            "name": "transaction",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "block",
                    "namespace": "event",
                    "fields": [
                        {"name": "id", "type": "string"},
                        {"name": "total_order", "type": "long"},
                        {"name": "data_collection_order", "type": "long"},
                    ],
                    "connect.version": 1,
                    "connect.name": "event.block",
                },
            ],
            "default": None,
        },
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
        {"name": "ts_us", "type": ["null", "long"], "default": None},
        {"name": "ts_ns", "type": ["null", "long"], "default": None},
    ],
    "connect.version": 2,
    "connect.name": "inventory.inventory.customers.Envelope",
}

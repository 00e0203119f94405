"""Schemas that are named in headers of records, as values name theirs in front."""

from __future__ import annotations

from headwater.core.imports import importing
from headwater.readers.formats.registry.glue_settings import GlueSettings
from headwater.readers.formats.registry.settings import RegistrySettings
from headwater.readers.formats.wire_format import named_schema, prefix


def prefix_of(header: bytes, settings: RegistrySettings | GlueSettings) -> bytes | None:
    """Return the bytes in front of a value whose schema a header names; see `Format.prefix_of`.

    Asks nothing: the decoder asks for the schema, as for those that values name in front.
    """
    named = named_schema(header)
    if named is None:
        return None
    if named.id is not None:
        return prefix(named.id, named.rest)
    with importing("schemas that headers name", extra="formats"):
        from headwater.readers.formats.registry.client import registry
    return prefix(registry(settings).id_of(named.guid), named.rest)

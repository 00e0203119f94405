"""The descriptor of a message, found in the descriptor set that protoc writes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from headwater.core.errors import OptionError, nearest

_WELL_KNOWN = (
    "any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct", "timestamp",
    "type", "wrappers",
)  # fmt: skip


def find_message(descriptor_set: bytes, name: str) -> Descriptor:
    """Return the descriptor of a message.

    Args:
        descriptor_set: what ``protoc --include_imports --descriptor_set_out=FILE`` writes. The well-known
            types of ``google.protobuf`` need not be in it.
        name: with the package, or without it where only one message is called so.

    Raises:
        OptionError: these bytes are no descriptor set, it is not whole, or it has no such message.
    """
    files = _files(descriptor_set)
    names = [each for file in files.values() for each in _message_names(file.package, file.message_type)]
    found = [each for each in names if each == name] or [each for each in names if each.endswith(f".{name}")]
    if len(found) != 1:
        near = nearest(name, names)
        hint = f"; did you mean {near!r}?" if near else ""
        if len(found) > 1:
            hint = f", but {' and '.join(found)}: write the package too"
        raise OptionError(f"the descriptor set has no message {name!r}{hint}")
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for file_name in files:
        _add(pool, files, file_name, added)
    return pool.FindMessageTypeByName(found[0])


def _files(descriptor_set: bytes) -> dict[str, descriptor_pb2.FileDescriptorProto]:
    try:
        parsed = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set)
    except DecodeError as error:
        raise OptionError(f"the descriptor set cannot be read ({error}); protoc writes one") from None
    return {file.name: file for file in parsed.file}


def _message_names(scope: str, messages: object) -> Iterator[str]:
    for message in messages:  # type: ignore[attr-defined] # a container without a public type
        name = f"{scope}.{message.name}" if scope else message.name
        yield name
        yield from _message_names(name, message.nested_type)


def _add(
    pool: descriptor_pool.DescriptorPool,
    files: dict[str, descriptor_pb2.FileDescriptorProto],
    name: str,
    added: set[str],
) -> None:
    """Add a file to the pool, and before it those that it imports."""
    if name in added:
        return
    added.add(name)
    file = files.get(name) or _well_known(name)
    if file is None:
        raise OptionError(
            f"the descriptor set lacks the imported file {name!r}: let protoc write it with --include_imports"
        )
    for dependency in file.dependency:
        _add(pool, files, dependency, added)
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise OptionError(f"the descriptor set is not valid: {error}") from None


def _well_known(name: str) -> descriptor_pb2.FileDescriptorProto | None:
    """Return a file that comes with protobuf itself."""
    short = name.removeprefix("google/protobuf/").removesuffix(".proto")
    if name != f"google/protobuf/{short}.proto" or short not in _WELL_KNOWN:
        return None
    file = descriptor_pb2.FileDescriptorProto()
    importlib.import_module(f"google.protobuf.{short}_pb2").DESCRIPTOR.CopyToProto(file)
    return file

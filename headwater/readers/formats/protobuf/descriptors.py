"""Messages by name: in the descriptor set that protoc writes, and in the schema that a registry has."""

from __future__ import annotations

import base64
import binascii
import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from headwater.core.errors import OptionError, nearest
from headwater.core.imports import importing

_KNOWN_FILES: Final = re.compile(
    r"google/protobuf/(any|api|descriptor|duration|empty|field_mask|source_context|struct|timestamp|type|"
    r"wrappers)\.proto|google/type/(calendar_period|color|date|datetime|dayofweek|decimal|expr|fraction|"
    r"interval|latlng|localized_text|money|month|phone_number|postal_address|quaternion|timeofday)\.proto"
)
"""Files that the library of protobuf and googleapis-common-protos bring."""
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_META_NUMBER: Final = 1088
_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|([A-Za-z_][\w.]*|[{};=.])", re.DOTALL
)


def find_message(descriptor_set: bytes, name: str) -> Descriptor:
    """Return the descriptor of a message.

    Args:
        descriptor_set: the output of ``protoc --include_imports --descriptor_set_out=FILE``. Files that
            Confluent's clients know (``google/protobuf``, ``google/type``, ``confluent``) need not be in it.
        name: with the package, or without it where only one message is called so.

    Raises:
        OptionError: these bytes are no descriptor set, it is not whole, or it has no such message.
    """
    files = _files(descriptor_set)
    names = [each for file in files.values() for each in _message_names(file.package, file.message_type)]
    matches = [each for each in names if each == name] or [
        each for each in names if each.endswith(f".{name}")
    ]
    if len(matches) != 1:
        near = nearest(name, names)
        hint = f"; did you mean {near!r}?" if near else ""
        if len(matches) > 1:
            hint = f", but {' and '.join(matches)}: write the package too"
        raise OptionError(f"the descriptor set has no message {name!r}{hint}")
    pool = descriptor_pool.DescriptorPool()
    loaded: set[str] = set()
    for file_name in files:
        _add(pool, files, file_name, loaded)
    return pool.FindMessageTypeByName(matches[0])


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
    loaded: set[str],
) -> None:
    """Add a file to the pool, and before it the files that it imports."""
    if name in loaded:
        return
    loaded.add(name)
    file = files.get(name) or _known_file(name)
    if file is None:
        raise OptionError(
            f"the descriptor set lacks the imported file {name!r}: let protoc write it with --include_imports"
        )
    for dependency in file.dependency:
        _add(pool, files, dependency, loaded)
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise OptionError(f"the descriptor set is not valid: {error}") from None


def _known_file(name: str) -> descriptor_pb2.FileDescriptorProto | None:
    """Return a file that Confluent's clients bring along; schemas import it without a reference to it.

    Raises:
        MissingDependencyError: the library that has it is not installed in this process.
    """
    if name.startswith("confluent/"):
        return _confluent_file(name)
    if not _KNOWN_FILES.fullmatch(name):
        return None
    file = descriptor_pb2.FileDescriptorProto()
    module = f"{name.removesuffix('.proto').replace('/', '.')}_pb2"
    with importing(f"a schema that imports {name}", extra="formats"):
        importlib.import_module(module).DESCRIPTOR.CopyToProto(file)
    return file


def _confluent_file(name: str) -> descriptor_pb2.FileDescriptorProto | None:
    """Return a file of Confluent's own: no library has them that is small enough to be needed here."""
    file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3")
    if name == "confluent/type/decimal.proto":
        file.package = "confluent.type"
        _add_fields(file.message_type.add(name="Decimal"), value="bytes", precision="uint32", scale="int32")
    elif name == "confluent/type/variant.proto":
        file.package = "confluent.type"
        _add_fields(file.message_type.add(name="Variant"), metadata="bytes", value="bytes")
    elif name == "confluent/types/decimal.proto":
        # Its name in earlier versions.
        file.dependency.append("confluent/type/decimal.proto")
        file.public_dependency.append(0)
    elif name == "confluent/meta.proto":
        _fill_meta(file)
    else:
        return None
    return file


def _fill_meta(file: descriptor_pb2.FileDescriptorProto) -> None:
    """Describe the options that Confluent's clients add to files, messages, fields and enums."""
    file.package = "confluent"
    file.dependency.append("google/protobuf/descriptor.proto")
    meta = file.message_type.add(name="Meta")
    _add_fields(
        meta, doc="string", params="confluent.Meta.ParamsEntry", tags="string", rules="confluent.Rule"
    )
    for field in meta.field[1:]:
        field.label = _FIELD.LABEL_REPEATED
    entry = meta.nested_type.add(name="ParamsEntry")
    _add_fields(entry, key="string", value="string")
    entry.options.map_entry = True
    _add_fields(file.message_type.add(name="Rule"), name="string", doc="string", expr="string", sql="string")
    for extended in ("file", "message", "field", "enum", "enum_value"):
        options = f"{extended.title().replace('_', '')}Options"
        file.extension.add(
            name=f"{extended}_meta",
            extendee=f".google.protobuf.{options}",
            number=_META_NUMBER,
            label=_FIELD.LABEL_OPTIONAL,
            type=_FIELD.TYPE_MESSAGE,
            type_name=".confluent.Meta",
        )


def _add_fields(message: descriptor_pb2.DescriptorProto, /, **kinds: str) -> None:
    """Add fields by their names, in order: of a scalar type, or of a message by its full name."""
    for number, (name, kind) in enumerate(kinds.items(), 1):
        field = message.field.add(name=name, number=number, label=_FIELD.LABEL_OPTIONAL)
        if "." in kind:
            field.type = _FIELD.TYPE_MESSAGE
            field.type_name = f".{kind}"
        else:
            field.type = _FIELD.Type.Value(f"TYPE_{kind.upper()}")


class MessageNames:
    """The messages of one file. Immutable.

    Args:
        schema: the file as a registry has it: a descriptor in Base64, or text.
    """

    def __init__(self, schema: str) -> None:
        descriptor = serialized_descriptor(schema)
        names = _of_text(schema) if descriptor is None else _of_descriptor(descriptor)
        self._names = dict(names)

    def at(self, indexes: Sequence[int]) -> str | None:
        """Return the full name of a message: the place of the outermost, of one in it, and so on."""
        return self._names.get(tuple(indexes))


def serialized_descriptor(schema: str) -> descriptor_pb2.FileDescriptorProto | None:
    """Return the descriptor of a file that a registry has in Base64; None if it has it as text."""
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None


def _of_descriptor(file: descriptor_pb2.FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    def below(messages: object, scope: str, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
        for at, message in enumerate(messages):  # type: ignore[arg-type,var-annotated] # no public type
            name = f"{scope}.{message.name}" if scope else message.name
            yield (*place, at), name
            yield from below(message.nested_type, name, (*place, at))

    return below(file.message_type, file.package, ())


def _of_text(text: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the messages of a text. Of that only words, braces and semicolons count."""
    tokens = [match.group(1) for match in _TOKEN.finditer(text) if match.group(1)]
    package = _package(tokens)
    scopes: list[tuple[str, tuple[int, ...]] | None] = [(package, ())]
    """Around this place: messages, and None for other braces."""
    counts: dict[tuple[int, ...], int] = {}
    statement: list[str] = []
    for word in tokens:
        if word == "{":
            scopes.append(None)
            around = scopes[-2]
            if around is not None and len(statement) == 2 and statement[0] == "message":
                scope, place = around
                inner = (*place, counts.get(place, 0))
                counts[place] = inner[-1] + 1
                name = f"{scope}.{statement[1]}" if scope else statement[1]
                scopes[-1] = name, inner
                yield inner, name
            statement = []
        elif word == "}":
            if len(scopes) > 1:
                scopes.pop()
            statement = []
        elif word == ";":
            statement = []
        else:
            statement.append(word)


def _package(tokens: Sequence[str]) -> str:
    """Return the name behind the first word "package"; empty if there is none."""
    if "package" not in tokens:
        return ""
    begin = tokens.index("package") + 1
    end = tokens.index(";", begin) if ";" in tokens[begin:] else len(tokens)
    return "".join(tokens[begin:end])

"""The names of messages in a file of Protobuf, in their order: what Confluent's message indexes count."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|([A-Za-z_][\w.]*|[{};=.])", re.DOTALL
)


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
    tokens = [found.group(1) for found in _TOKEN.finditer(text) if found.group(1)]
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

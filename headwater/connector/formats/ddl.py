"""Schemas as users write them: Spark's DDL (``id long, tags array<string>``), its JSON, or a StructType.

PySpark parses DDL with the JVM, which the processes that load a source do not have.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Final

from pyspark.sql import types
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_SIMPLE: Final[dict[str, Callable[[], DataType]]] = {
    "bigint": LongType,
    "binary": BinaryType,
    "boolean": BooleanType,
    "byte": ByteType,
    "date": DateType,
    "double": DoubleType,
    "float": FloatType,
    "int": IntegerType,
    "integer": IntegerType,
    "long": LongType,
    "real": FloatType,
    "short": ShortType,
    "smallint": ShortType,
    "string": StringType,
    "timestamp": TimestampType,
    "timestamp_ltz": TimestampType,
    "timestamp_ntz": TimestampNTZType,
    "tinyint": ByteType,
}
_DECIMALS: Final = ("dec", "decimal", "numeric")
_TOKEN: Final = re.compile(
    r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(\w+)|([<>(),:]))"
)
_MOST_DEPTH: Final = 64


def schema(raw: str) -> StructType:
    """Return the fields that a user's text names; all of them may be null.

    Raises:
        ValueError: it is no schema, or has types that no format makes.
    """
    text = raw.strip()
    if text.startswith("{"):
        fields = _from_json(text)
    elif text.startswith("StructType("):
        fields = _from_repr(text)
    else:
        fields = _Parser(raw).schema()
    check_types(fields)
    return fields


def _from_json(raw: str) -> StructType:
    try:
        return StructType.fromJson(json.loads(raw))
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        raise ValueError(f"is not a schema in Spark's JSON: {error!r}") from None


def _from_repr(raw: str) -> StructType:
    """Return the fields of a StructType that was given as an option: Spark passes on its ``repr``."""
    try:
        fields = _value(ast.parse(raw, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, AttributeError, AssertionError, RecursionError):
        fields = None
    if isinstance(fields, StructType):
        return fields
    raise ValueError("is not a StructType as Python shows it: pass its .json(), or Spark's DDL")


def _value(node: ast.expr) -> object:
    """Return the value of an expression that only calls Spark's types, with literals and lists of those."""
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    kind = getattr(types, node.func.id) if isinstance(node.func, ast.Name) else None
    if isinstance(kind, type) and issubclass(kind, DataType | StructField) and not node.keywords:
        return kind(*map(_value, node.args))
    raise TypeError("not a type of Spark's")


class _Parser:
    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._tokens = _tokens(raw)
        self._at = 0

    def schema(self) -> StructType:
        fields = self._fields(end="", depth=0)
        if not fields:
            raise ValueError("must name at least one field, such as: id long")
        return StructType(fields)

    def _fields(self, *, end: str, depth: int) -> list[StructField]:
        fields: list[StructField] = []
        while self._peek() != end:
            if fields:
                self._take(",")
            name = self._name()
            if self._peek() == ":":
                self._take(":")
            kind = self._type(depth)
            self._refuse_not_null(name)
            comment = self._comment()
            fields.append(StructField(name, kind, metadata={"comment": comment} if comment else None))
        return fields

    def _type(self, depth: int) -> DataType:
        if depth > _MOST_DEPTH:
            raise ValueError(f"has more than {_MOST_DEPTH} types inside of each other")
        word = self._next().lower()
        if word in _DECIMALS:
            return self._decimal()
        if word in _SIMPLE:
            return _SIMPLE[word]()
        if word not in {"array", "map", "struct"}:
            raise self._unexpected(word, "a type that formats make")
        self._take("<")
        kind: DataType
        if word == "array":
            kind = ArrayType(self._type(depth + 1))
        elif word == "map":
            key = self._type(depth + 1)
            self._take(",")
            kind = MapType(key, self._type(depth + 1))
        else:
            kind = StructType(self._fields(end=">", depth=depth + 1))
        self._take(">")
        return kind

    def _decimal(self) -> DecimalType:
        if self._peek() != "(":
            return DecimalType(10, 0)
        self._take("(")
        numbers = [self._number()]
        if self._peek() == ",":
            self._take(",")
            numbers.append(self._number())
        self._take(")")
        return DecimalType(*numbers)

    def _number(self) -> int:
        token = self._next()
        if not token.isdecimal():
            raise self._unexpected(token, "a number")
        return int(token)

    def _name(self) -> str:
        token = self._next()
        if token.startswith("`"):
            return token[1:-1].replace("``", "`")
        if not re.fullmatch(r"\w+", token):
            raise self._unexpected(token, "the name of a field")
        return token

    def _refuse_not_null(self, name: str) -> None:
        if self._peek().lower() == "not":
            raise ValueError(
                f"says that {name!r} is NOT NULL; any record may lack a field: leave NOT NULL out"
            )

    def _comment(self) -> str:
        if self._peek().lower() != "comment":
            return ""
        self._next()
        return self._next()[1:-1]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise ValueError(f"ends too early: {self._raw!r}")
        self._at += 1
        return token

    def _take(self, expected: str) -> None:
        token = self._next()
        if token != expected:
            raise self._unexpected(token, repr(expected))

    def _unexpected(self, token: str, expected: str) -> ValueError:
        return ValueError(f"has {token!r} where {expected} should be: {self._raw!r}")


def _tokens(raw: str) -> list[str]:
    tokens = []
    at = 0
    while raw[at:].strip():
        match = _TOKEN.match(raw, at)
        if match is None:
            raise ValueError(f"cannot be read from {raw[at:].strip()[:20]!r} on; quote names with backticks")
        tokens.append(match.group(match.lastindex or 0))
        at = match.end()
    return tokens


def check_types(kind: DataType, path: str = "") -> None:
    """Refuse types that no format makes, and names that come twice. Case counts, as in `from_json`.

    Args:
        kind: a type with all that is in it.
        path: where it is, with a dot at the end.

    Raises:
        ValueError: with the path of the field.
    """
    if isinstance(kind, StructType):
        names = [field.name for field in kind.fields]
        if twice := [name for at, name in enumerate(names) if name in names[:at]]:
            raise ValueError(f"names {path + twice[0]!r} twice")
        for field in kind.fields:
            check_types(field.dataType, f"{path}{field.name}.")
    elif isinstance(kind, ArrayType):
        check_types(kind.elementType, path)
    elif isinstance(kind, MapType):
        if kind.keyType.typeName() != "string":
            raise ValueError(f"has a map at {path[:-1]!r} whose keys are no strings")
        check_types(kind.valueType, path)
    elif kind.typeName() not in _MADE:
        raise ValueError(
            f"has {kind.simpleString()} at {path[:-1]!r}, a type that this format does not become: read it "
            "as a string"
        )


_MADE: Final = frozenset({"decimal", *(make().typeName() for make in _SIMPLE.values())})

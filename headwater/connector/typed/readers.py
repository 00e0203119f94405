"""The functions `hw.read.kafka(...)` and their like, made from the tables of options.

A function is made when it is first asked for: each table loads the rooms of its source. Type checkers and
editors read ``headwater/read.pyi`` and ``headwater/read_stream.pyi``, which ``scripts/generate`` writes from
the same tables.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.program_arguments import checked_mapping, checked_session, misfit
from headwater.connector.readable import readable
from headwater.connector.sources.built_in import BUILT_IN
from headwater.connector.sources.registry import options_of
from headwater.connector.typed.arguments import Argument, arguments_of
from headwater.core.errors import OptionError, nearest
from headwater.core.source import Boundedness

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

_COLUMNS: Final = 106
_LIKENESS: Final = 0.75
"""How much a name must look like an argument to be taken for a slip of it."""


@dataclass(frozen=True)
class _Mode:
    """A module of typed readers.

    Attributes:
        boundedness: a batch or a stream.
        phrase: the same in a sentence.
        attribute: of the session, which reads so.
        other: the module of the other mode.
    """

    boundedness: Boundedness
    phrase: str
    attribute: str
    other: str


MODES: Final = {
    "read": _Mode(Boundedness.BOUNDED, "in a batch", "read", "read_stream"),
    "read_stream": _Mode(Boundedness.CONTINUOUS_UNBOUNDED, "as a stream", "readStream", "read"),
}
"""By the names of the public modules."""


def typed_reader(package: str, source: str) -> Callable[..., DataFrame]:
    """Return a typed reader: its arguments become options, and the frame is loaded.

    Args:
        package: one of `MODES`.
        source: one that is built in.
    """
    mode = MODES[package]
    arguments = arguments_of(source, mode.boundedness)
    signature = _signature(arguments)

    def reader(*args: Any, **kwargs: Any) -> DataFrame:
        try:
            call = signature.bind(*args, **kwargs)
        except TypeError:
            raise _misuse(package, source, len(args), kwargs) from None
        call.apply_defaults()
        values = call.arguments
        frames = getattr(checked_session(values["spark"]), mode.attribute)
        options = {"source": source}
        for argument in arguments:
            options.update(_options(argument, values[argument.name]))
        return _loaded(frames.format("headwater").options(**options), values["schema"])

    reader.__module__ = f"headwater.{package}"
    reader.__name__ = reader.__qualname__ = source
    reader.__doc__ = docstring(package, source)
    reader.__annotations__ = {
        parameter.name: parameter.annotation for parameter in signature.parameters.values()
    }
    reader.__annotations__["return"] = signature.return_annotation
    # `inspect.signature` and notebooks ask for it.
    reader.__signature__ = signature  # type: ignore[attr-defined]
    return readable(reader)


def docstring(package: str, source: str) -> str:
    """Return the docstring of a typed reader, indented as in a module."""
    mode = MODES[package]
    row = BUILT_IN[source]
    described = "".join(map(_described, arguments_of(source, mode.boundedness)))
    return (
        f"Read {row.title} {mode.phrase}.\n"
        "\n"
        f'    The same as ``spark.{mode.attribute}.format("headwater").option("source", "{source}")`` with '
        "the\n"
        f'    options that the arguments are named after, and ``load()``: ``hw.options_of("{source}")``.\n'
        "\n"
        "    Args:\n"
        "        spark: the session.\n"
        f"{described}"
        "        schema: the whole frame's, where the source takes one (``.schema(...)``).\n"
        "\n"
        "    Raises:\n"
        "        OptionError: an argument is missing or unknown, or is of another type.\n"
        "    "
    )


def _described(argument: Argument) -> str:
    default = f" Default: {argument.default}." if argument.default and not argument.required else ""
    option = f" (``{argument.option}``)" if argument.option not in ("", argument.name) else ""
    entry = f"{argument.name}: {argument.help}{default}{option}"
    lines = textwrap.wrap(
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", entry),
        _COLUMNS,
        initial_indent=" " * 8,
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) + "\n"


def _signature(arguments: tuple[Argument, ...]) -> Signature:
    parameters = [Parameter("spark", Parameter.POSITIONAL_OR_KEYWORD, annotation="SparkSession")]
    for argument in arguments:
        default = Parameter.empty if argument.required else None
        annotation = argument.annotation if argument.required else f"{argument.annotation} | None"
        parameters.append(
            Parameter(argument.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    parameters.append(
        Parameter("schema", Parameter.KEYWORD_ONLY, default=None, annotation="str | StructType | None")
    )
    return Signature(parameters, return_annotation="DataFrame")


def _loaded(reader: DataFrameReader | DataStreamReader, schema: str | StructType | None) -> DataFrame:
    if schema is None:
        return reader.load()
    if not isinstance(schema, str) and not hasattr(schema, "json"):
        raise misfit("schema", "Spark's DDL, or a StructType", schema)
    return reader.schema(schema).load()


def _options(argument: Argument, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the options that an argument sets: none if its value is None."""
    if value is None:
        if argument.required:
            raise misfit(argument.name, "given", value, f": {argument.help}")
        return
    if argument.option and not argument.option.endswith("."):
        yield argument.option, argument.kind.text(value, argument.name)
        return
    for rest, each in checked_mapping(value, argument.name).items():
        yield f"{argument.option}{rest}", argument.kind.text(each, f"{argument.name}.{rest}")


def _misuse(package: str, source: str, positional: int, keywords: Mapping[str, Any]) -> OptionError:
    """Return the error of a call that does not fit the signature.

    Args:
        package: one of `MODES`.
        source: which is read.
        positional: how many arguments came without a name.
        keywords: the other ones.
    """
    call = f"hw.{package}.{source}"
    arguments = arguments_of(source, MODES[package].boundedness)
    valid = {"spark", "schema", *(argument.name for argument in arguments)}
    unknown = next((name for name in keywords if name not in valid), None)
    if unknown is not None:
        hint = _hint(package, source, arguments, unknown)
        return OptionError(f"is no argument of {call}{hint}", option=unknown)
    if (positional > 0) + ("spark" in keywords) != 1:
        message = f"{call} takes the session once, as its first argument: {call}(spark, ...)"
        return OptionError(message, option="spark")
    if positional > 1:
        example = next((argument.name for argument in arguments if argument.name not in keywords), "schema")
        message = f"{call} takes the session alone without a name; name the others, such as {example}=..."
        return OptionError(message, option="spark")
    missing = next(argument for argument in arguments if argument.required and argument.name not in keywords)
    return OptionError(f"is required by {call}: {missing.help}", option=missing.name)


def _hint(package: str, source: str, arguments: tuple[Argument, ...], name: str) -> str:
    other = MODES[package].other
    if name in {argument.name for argument in arguments_of(source, MODES[other].boundedness)}:
        return f", but of hw.{other}.{source}: it has no meaning here"
    # People write options as the docs spell them, and as other libraries do.
    by_option = {argument.option: argument.name for argument in arguments}
    words = options_of(source).other_words
    meanings = {
        **{word: by_option[option] for word, option in words.items() if option in by_option},
        **{option.lower(): argument for option, argument in by_option.items()},
        **{argument: argument for argument in by_option.values()},
    }
    near = nearest(name, meanings, likeness=_LIKENESS)
    return f"; did you mean {meanings[near]!r}?" if near else f"; help(hw.{package}.{source}) shows all"

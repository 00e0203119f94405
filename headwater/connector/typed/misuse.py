"""What is said of a call that does not fit the signature of a typed reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headwater.connector.sources.registry import options_of
from headwater.connector.typed.arguments import Argument, arguments_of
from headwater.core.errors import OptionError, nearest
from headwater.core.source import Boundedness

_MODES: Final = {"read": Boundedness.BOUNDED, "read_stream": Boundedness.CONTINUOUS_UNBOUNDED}
_OTHER: Final = {"read": "read_stream", "read_stream": "read"}
_LIKENESS: Final = 0.75


def misuse(module: str, positional: int, given: Mapping[str, Any]) -> OptionError:
    """Return the error of a call that does not fit.

    Args:
        module: the reader's, which ends with its mode and its source.
        positional: how many arguments came without a name.
        given: those that came with one.
    """
    package, source = module.split(".")[-2:]
    call = f"hw.{package}.{source}"
    arguments = arguments_of(source, _MODES[package])
    known = {"spark", "schema", *(argument.name for argument in arguments)}
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        hint = _hint(package, source, arguments, unknown)
        return OptionError(f"is no argument of {call}{hint}", option=unknown)
    if (positional > 0) + ("spark" in given) != 1:
        said = "takes the session once, as its first argument"
        return OptionError(f"{call} {said}: {call}(spark, ...)", option="spark")
    if positional > 1:
        example = next((argument.name for argument in arguments if argument.name not in given), "schema")
        said = f"{call} takes the session alone without a name; name the others, such as {example}=..."
        return OptionError(said, option="spark")
    missing = next(argument for argument in arguments if argument.required and argument.name not in given)
    return OptionError(f"is required by {call}: {missing.help}", option=missing.name)


def _hint(package: str, source: str, arguments: tuple[Argument, ...], name: str) -> str:
    other = _OTHER[package]
    if name in {argument.name for argument in arguments_of(source, _MODES[other])}:
        return f", but of hw.{other}.{source}: it has no meaning here"
    # People write options as the docs spell them, and as other libraries do.
    words = dict(options_of(source).other_words)
    by_option = {argument.option: argument.name for argument in arguments}
    meant = {
        **{word: by_option[option] for word, option in words.items() if option in by_option},
        **{option.lower(): argument for option, argument in by_option.items()},
        **{argument: argument for argument in by_option.values()},
    }
    near = nearest(name, meant, likeness=_LIKENESS)
    return f"; did you mean {meant[near]!r}?" if near else f"; help(hw.{package}.{source}) shows all"

"""The schema of keys or values that a registry has: under which subject, asked for once for each frame."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeAlias

from headwater.connector.formats.options import FORMATS, PartOptions
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError, UnknownSplitError
from headwater.core.imports import importing, require
from headwater.readers.formats.registry.glue_settings import GLUE_OPTIONS, GlueSettings
from headwater.readers.formats.registry.settings import REGISTRY_OPTIONS, RegistrySettings, RegistryTls

if TYPE_CHECKING:
    from headwater.connector.formats.format_request import FormatRequest
    from headwater.readers.formats.registry.registry import RegisteredSchema

_MOST_SHOWN: Final = 500
_OF_KINDS: Final = {
    "confluent": (
        REGISTRY_OPTIONS,
        "a registry: confluent-avro, confluent-protobuf, debezium-avro, or confluent-json without a schema",
    ),
    "glue": (GLUE_OPTIONS, "AWS Glue's registry: glue-avro, or glue-json without a schema"),
}
"""By the kind of registry: its options, and who asks it."""

Question: TypeAlias = tuple[str, str, bool]
"""A subject, a version such as ``latest``, and whether Protobuf is asked for as its descriptor."""
KeptSchemas: TypeAlias = "dict[Question, RegisteredSchema]"

_FRAME: ContextVar[KeptSchemas | None] = ContextVar("kept_schemas", default=None)


def check_registries(options: ParsedOptions, kinds: Collection[str]) -> None:
    """Refuse options about registries of a kind that no format asks.

    Args:
        options: the user's.
        kinds: the kinds that are asked.

    Raises:
        OptionError: one of them was given.
    """
    for kind, (rows, formats) in _OF_KINDS.items():
        for option in rows:
            if kind not in kinds and options.gives(option):
                raise OptionError(f"requires a format that asks {formats}", option=option.name)


def registry_settings(request: FormatRequest) -> RegistrySettings | GlueSettings:
    """Return where the registry is.

    Raises:
        OptionError: it is not said, or two ways to authenticate are.
        MissingDependencyError: a library that asks it is not installed.
    """
    if FORMATS[request.part.format or ""].registry == "glue":
        require("boto3", needed_for=f"the format {request.part.format}", extra="glue")
        return request.parsed.of(GlueSettings)
    tls = request.parsed.of(RegistryTls)
    settings = request.parsed.of(RegistrySettings, tls=tls)
    if not settings.urls:
        hint = f"is required for the format {request.part.format!r}: http://host:8081"
        raise settings.refusal("urls", hint)
    return settings


def registered_schema(request: FormatRequest, *, serialized: bool) -> RegisteredSchema:
    """Return the schema that the columns are to be made of, which a frame keeps. On the driver; blocks.

    Args:
        request: names subject and version.
        serialized: see `SchemaRegistry`.

    Raises:
        OptionError: the subject is not known, or the schemas of several topics differ.
        SourceError: the registry does not have it, or does not answer.
    """
    part = request.part
    subjects = subjects_of(request)
    with importing("a schema registry", extra="formats"):
        from headwater.readers.formats.registry.client import registry
    client = registry(registry_settings(request))
    version = part.version
    try:
        schemas = [
            _kept_or_asked(
                (subject, version, serialized),
                functools.partial(client.by_version, subject, version, serialized=serialized),
            )
            for subject in subjects
        ]
    except UnknownSplitError as error:
        hint = f"Option {part.OPTIONS['subject'].name!r} names the subject"
        if _has_strategies(part):
            hint = f"{hint}, {part.OPTIONS['subject_strategy'].name!r} how producers name it"
        raise UnknownSplitError(
            f"{error.message}. {hint}, {part.OPTIONS['version'].name!r} the version", source=error.source
        ) from error
    _check_agreement(part, subjects, schemas)
    return schemas[0]


@contextmanager
def keeping(schemas: KeptSchemas) -> Iterator[None]:
    """Take schemas from a dictionary in place of asking for them, and add those that are asked for.

    So the columns of a frame stay the same. Spark makes a reader of a stream twice, in two processes, the
    second time when the first batch has rows: that may be hours later. Both must come to the same columns,
    even if the registry has another schema by then, or is away.
    """
    token = _FRAME.set(schemas)
    try:
        yield
    finally:
        _FRAME.reset(token)


def _kept_or_asked(question: Question, ask: Callable[[], RegisteredSchema]) -> RegisteredSchema:
    """Return the answer to a question, which is asked once for each frame."""
    schemas = _FRAME.get()
    if schemas is None:
        return ask()
    if question not in schemas:
        schemas[question] = ask()
    return schemas[question]


def _check_agreement(part: PartOptions, subjects: Sequence[str], schemas: Sequence[RegisteredSchema]) -> None:
    """Refuse topics whose schemas differ: the columns are made of one.

    Raises:
        OptionError: with both.
    """
    for subject, schema in zip(subjects, schemas, strict=True):
        if (schema.kind, schema.text, schema.references) != (
            schemas[0].kind,
            schemas[0].text,
            schemas[0].references,
        ):
            raise part.refusal(
                "subject",
                f"is required: the schemas of the subjects {subjects[0]!r} and {subject!r} differ. It "
                f"names the one that the columns are made of. "
                f"They are {_shown(schemas[0])} and {_shown(schema)}",
            )


def _shown(schema: RegisteredSchema) -> str:
    text = schema.text if len(schema.text) <= _MOST_SHOWN else f"{schema.text[:_MOST_SHOWN]}..."
    return f"{text} ({schema.name or f'id {schema.id}'})"


def subjects_of(request: FormatRequest) -> tuple[str, ...]:
    """Return the subjects that may name the schema of the columns, one for each topic at the most.

    Raises:
        OptionError: they are not known, or are said in two ways.
    """
    part = request.part
    strategy = part.subject_strategy
    if not _has_strategies(part):
        return (part.subject,) if part.subject is not None else tuple(_topics(request))
    if part.subject is not None:
        if strategy is not None:
            hint = f"goes not together with {part.OPTIONS['subject'].name!r}"
            raise part.refusal("subject_strategy", hint)
        _refuse_name(part)
        return (part.subject,)
    if strategy in {None, "topic"}:
        _refuse_name(part)
        return tuple(f"{topic}-{part.PART}" for topic in _topics(request))
    name = part.require(
        "message",
        f" with {part.OPTIONS['subject_strategy'].name!r} {strategy}: the full name of the record",
    )
    return (name,) if strategy == "record" else tuple(f"{topic}-{name}" for topic in _topics(request))


def _topics(request: FormatRequest) -> list[str]:
    if not request.topics:
        why = "where a pattern finds the topics" if request.topics is None else "by a source other than kafka"
        hint = f"is required {why}: it names the schema that the columns are made of"
        if _has_strategies(request.part):
            strategy = request.part.OPTIONS["subject_strategy"].name
            hint = f"{hint}. With {strategy!r} record the name of the record does too"
        raise request.part.refusal("subject", hint)
    return sorted(request.topics)


def _has_strategies(part: PartOptions) -> bool:
    return "subject_strategy" in FORMATS[part.format or ""].takes


def _refuse_name(part: PartOptions) -> None:
    """Refuse the name of a record where no subject has it; Protobuf's messages have it in any case."""
    is_protobuf = "descriptor" in FORMATS[part.format or ""].takes
    if part.message is not None and not is_protobuf:
        name = part.OPTIONS["subject_strategy"].name
        raise part.refusal("message", f"requires {name!r} record or topic-record")

"""The options about a schema registry, and the schema that they and those of a part name."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.formats.kept_schemas import kept_or_asked
from headwater.connector.formats.subjects import subjects_of
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError, UnknownSplitError
from headwater.core.imports import importing
from headwater.core.options import WHERE_SECRETS_ARE, Option, duration_ms, names, text

if TYPE_CHECKING:
    from headwater.connector.formats.format_request import FormatRequest
    from headwater.readers.formats.registry.client import RegisteredSchema
    from headwater.readers.formats.registry.settings import RegistrySettings

_DEADLINE_MS: Final = 120_000
_MOST_SHOWN: Final = 500


def _urls(raw: str) -> tuple[str, ...]:
    found = names(raw)
    if not all(url.startswith(("http://", "https://")) for url in found):
        raise ValueError(f"must be URLs such as http://host:8081, with commas between them, not {raw!r}")
    return found


URL: Final = Option(
    "schema.registry.url",
    _urls,
    None,
    "Where the schema registry is, which speaks Confluent's REST API; several addresses of one registry with "
    "commas between them. Required for `confluent-avro`, `confluent-protobuf`, `debezium-avro`, and "
    "for `confluent-json` without a schema.",
)
_USER: Final = Option(
    "schema.registry.basic.auth.user.info",
    text,
    None,
    f"`user:password` for basic authentication. {WHERE_SECRETS_ARE}",
)
_TOKEN: Final = Option(
    "schema.registry.bearer.auth.token", text, None, f"A bearer token. {WHERE_SECRETS_ARE}"
)
_CA: Final = Option(
    "schema.registry.ssl.ca.location",
    text,
    None,
    "A PEM file of the certificates to trust, there where it is used.",
    shown_default="the system's",
)
_CERTIFICATE: Final = Option(
    "schema.registry.ssl.certificate.location", text, None, "A PEM file of this client's certificate."
)
_KEY: Final = Option(
    "schema.registry.ssl.key.location",
    text,
    None,
    "A PEM file of its key, without a password.",
    shown_default="in the same file",
)
_DEADLINE: Final = Option(
    "schema.registry.deadlineMs",
    duration_ms,
    None,
    "For how long a registry that is away, or does not know an id yet, is asked again.",
    shown_default=f"`{_DEADLINE_MS}`",
)

REGISTRY_OPTIONS: Final[tuple[Option[Any], ...]] = (URL, _USER, _TOKEN, _CA, _CERTIFICATE, _KEY, _DEADLINE)
"""In the order of the docs."""


def check_no_registry(options: ParsedOptions) -> None:
    """Refuse options about a registry where no format asks one.

    Raises:
        OptionError: one of them was given.
    """
    for option in REGISTRY_OPTIONS:
        if options.get(option) is not None:
            raise OptionError(
                "counts only with a format that asks a registry: confluent-avro, confluent-protobuf, "
                "debezium-avro, or confluent-json without a schema",
                option=option.name,
            )


def registry_settings(request: FormatRequest) -> RegistrySettings:
    """Return where the registry is.

    Raises:
        OptionError: it is not said, or two ways to authenticate are.
    """
    from headwater.core.secrets import TlsSettings
    from headwater.readers.formats.registry.settings import RegistrySettings

    given = request.given
    urls = given.require(URL, f" for the format {given[request.rows.format]!r}: http://host:8081")
    if given[_USER] is not None and given[_TOKEN] is not None:
        raise OptionError(f"goes not together with option {_USER.name!r}", option=_TOKEN.name)
    if given[_KEY] is not None and given[_CERTIFICATE] is None:
        raise OptionError(f"counts only with option {_CERTIFICATE.name!r}", option=_KEY.name)
    deadline_ms = given[_DEADLINE]
    return RegistrySettings(
        urls=urls,
        user_info=given[_USER],
        token=given[_TOKEN],
        tls=TlsSettings(
            ca=given[_CA],
            certificate=given[_CERTIFICATE],
            key=given[_KEY],
            options=(_CA.name, _CERTIFICATE.name, _KEY.name),
        ),
        deadline_ms=_DEADLINE_MS if deadline_ms is None else deadline_ms,
    )


def registered_schema(request: FormatRequest, *, serialized: bool = False) -> RegisteredSchema:
    """Return the schema that the columns are to be made of, which a frame keeps. On the driver; blocks.

    Args:
        request: names subject and version.
        serialized: see `SchemaRegistry`.

    Raises:
        OptionError: the subject is not known, or the schemas of several topics differ.
        SourceError: the registry does not have it, or does not answer.
    """
    rows = request.rows
    subjects = subjects_of(request)
    with importing("a schema registry", extra="formats"):
        from headwater.readers.formats.registry.client import registry
    client = registry(registry_settings(request))
    version = request.given[rows.version] or "latest"
    try:
        found = [
            kept_or_asked(
                (subject, version, serialized),
                functools.partial(client.by_version, subject, version, serialized=serialized),
            )
            for subject in subjects
        ]
    except UnknownSplitError as error:
        raise UnknownSplitError(
            f"{error.message}. Option {rows.subject.name!r} names the subject, "
            f"{rows.subject_strategy.name!r} how producers name it, {rows.version.name!r} the version",
            source=error.source,
        ) from error
    _check_agreement(request, subjects, found)
    return found[0]


def _check_agreement(
    request: FormatRequest, subjects: Sequence[str], found: Sequence[RegisteredSchema]
) -> None:
    """Refuse topics whose schemas differ: the columns are made of one.

    Raises:
        OptionError: with both.
    """
    for subject, schema in zip(subjects, found, strict=True):
        if (schema.kind, schema.text, schema.references) != (
            found[0].kind,
            found[0].text,
            found[0].references,
        ):
            raise request.refusal(
                request.rows.subject,
                f"is required: the schemas of the subjects {subjects[0]!r} and {subject!r} differ. It "
                f"names the one that the columns are made of. "
                f"They are {_shown(found[0])} and {_shown(schema)}",
            )


def _shown(schema: RegisteredSchema) -> str:
    text = schema.text if len(schema.text) <= _MOST_SHOWN else f"{schema.text[:_MOST_SHOWN]}..."
    return f"{text} (id {schema.id})"

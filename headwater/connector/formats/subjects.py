"""The subjects of a schema registry under which producers register their schemas: Confluent's strategies."""

from __future__ import annotations

from typing import Final

from headwater.connector.formats.format_request import FormatRequest

SUBJECT_STRATEGIES: Final = ("topic", "record", "topic-record")


def subjects_of(request: FormatRequest) -> tuple[str, ...]:
    """Return the subjects that may name the schema of the columns, one for each topic at the most.

    Raises:
        OptionError: they are not known, or are said in two ways.
    """
    given, rows = request.given, request.rows
    strategy = given[rows.subject_strategy]
    subject = given[rows.subject]
    if subject is not None:
        if strategy is not None:
            raise request.refusal(rows.subject_strategy, f"goes not together with {rows.subject.name!r}")
        _refuse_name(request)
        return (subject,)
    if strategy in {None, "topic"}:
        _refuse_name(request)
        return tuple(f"{topic}-{rows.part}" for topic in _topics(request))
    name = given.require(
        rows.message, f" with {rows.subject_strategy.name!r} {strategy}: the full name of the record"
    )
    return (name,) if strategy == "record" else tuple(f"{topic}-{name}" for topic in _topics(request))


def _topics(request: FormatRequest) -> list[str]:
    if not request.topics:
        why = "where a pattern finds the topics" if request.topics is None else "by a source other than kafka"
        raise request.refusal(
            request.rows.subject,
            f"is required {why}: it names the schema that the columns are made of. With "
            f"{request.rows.subject_strategy.name!r} record the name of the record does too",
        )
    return sorted(request.topics)


def _refuse_name(request: FormatRequest) -> None:
    """Refuse the name of a record where no subject has it; Protobuf's messages have it in any case."""
    rows = request.rows
    if request.given[rows.message] is not None and request.given[rows.format] != "confluent-protobuf":
        raise request.refusal(
            rows.message, f"counts only with {rows.subject_strategy.name!r} record or topic-record"
        )

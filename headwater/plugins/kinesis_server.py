"""A client of `headwater.plugins.kinesis`, by boto3."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import headwater as hw

_TIMEOUT_S: Final = 30
_UNKNOWN_LOGIN: Final = (
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignatureException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
)
_SERVER_ERROR: Final = 500


class KinesisSettings(hw.options.Spec):
    """How the service is reached."""

    region: str | None = hw.options.option(
        "region", "The region, such as `eu-west-1`.", default=None, shown_default="that of the AWS settings"
    )
    endpoint: str | None = hw.options.option(
        "endpointUrl", "An endpoint of one's own, such as `https://vpce-1.example`.", default=None
    )
    key_id: str | None = hw.options.option(
        "accessKeyId",
        "The id of an access key.",
        default=None,
        shown_default="what boto3 finds: environment, profile, role",
    )
    secret_key: str | None = hw.options.option(
        "secretAccessKey",
        "The secret of it: `env:NAME`, `file:PATH`, or the key itself.",
        default=None,
        is_secret=True,
    )
    token: str | None = hw.options.option(
        "sessionToken", "A session token, in the same way.", default=None, is_secret=True
    )
    ca: str | None = hw.options.option(
        "tlsCa",
        "The certificates to trust: a PEM file on every host that connects.",
        default=None,
        shown_default="those of boto3",
    )

    def __post_init__(self) -> None:
        if (self.key_id is None) != (self.secret_key is None):
            field = "key_id" if self.secret_key is None else "secret_key"
            raise self.refusal(field, "accessKeyId and secretAccessKey go together: give both")
        if self.token is not None and self.key_id is None:
            raise self.refusal("token", "requires accessKeyId and secretAccessKey")


class KinesisServer:
    """A client of the service. Threads may share it.

    Attributes:
        now_ms: the time of the service, as its last answer told it.
    """

    def __init__(self, settings: KinesisSettings) -> None:
        self.now_ms = 0
        self._retention_ms: dict[str, int] = {}
        self._client = _client(settings)

    def shards(self, stream: str) -> Iterator[dict[str, Any]]:
        """Yield all shards of a stream."""
        request = {"StreamName": stream}
        while True:
            answer = self._ask(self._client.list_shards, stream, **request)
            yield from answer["Shards"]
            if not answer.get("NextToken"):
                return
            request = {"NextToken": answer["NextToken"]}

    def iterator(self, stream: str, shard: str, position: list[Any]) -> str:
        """Return an iterator that begins at a position."""
        kind, value, _ = position
        more: dict[str, Any] = {}
        if kind == "AT_TIMESTAMP":
            more["Timestamp"] = datetime.fromtimestamp(value / 1000, UTC)
        elif value is not None:
            more["StartingSequenceNumber"] = value
        request = {"StreamName": stream, "ShardId": shard, "ShardIteratorType": kind, **more}
        answer = self._ask(self._client.get_shard_iterator, stream, **request)
        iterator: str = answer["ShardIterator"]
        return iterator

    def records(self, iterator: str, most: int) -> Any:
        """Return an answer with records; None if the iterator is too old.

        Raises:
            BusyError: the shard was read too often. The iterator can be used later.
        """
        try:
            return self._ask(self._client.get_records, "", ShardIterator=iterator, Limit=most)
        except _ExpiredError:
            return None

    def has(self, stream: str, shard: str, number: str) -> bool:
        """Return whether a record is still there."""
        iterator = self.iterator(stream, shard, ["AT_SEQUENCE_NUMBER", number, 0])
        answer = self._ask(self._client.get_records, stream, ShardIterator=iterator, Limit=1)
        return any(each["SequenceNumber"] == number for each in answer["Records"])

    def retention_ms(self, stream: str) -> int:
        """Return for how long a stream keeps records."""
        if stream not in self._retention_ms:
            answer = self._ask(self._client.describe_stream_summary, stream, StreamName=stream)
            hours = answer["StreamDescriptionSummary"]["RetentionPeriodHours"]
            self._retention_ms[stream] = int(hours) * 3_600_000
        return self._retention_ms[stream]

    def _ask(self, call: Callable[..., Any], stream: str, **request: Any) -> Any:
        from botocore import exceptions

        try:
            answer = call(**request)
        except exceptions.ClientError as error:
            raise _as_ours(error, stream) from error
        except (exceptions.HTTPClientError, exceptions.ConnectionError) as error:
            if isinstance(error, exceptions.SSLError):
                raise hw.errors.SourceError(f"certificate or TLS: {error}", source="kinesis") from error
            absent = exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError
            kind = hw.errors.NoConnectionError if isinstance(error, absent) else hw.TransientSourceError
            raise kind(f"{type(error).__name__}: {error}", source="kinesis") from error
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
            raise hw.errors.AuthenticationError(
                f"{error}: give accessKeyId and secretAccessKey, or the settings that boto3 looks for",
                source="kinesis",
            ) from error
        date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        local_ms = int(datetime.now(UTC).timestamp() * 1000)
        if date:
            # To the second; within it, this host's clock says when.
            second_ms = int(parsedate_to_datetime(date).timestamp() * 1000)
            local_ms = min(max(local_ms, second_ms), second_ms + 999)
        self.now_ms = local_ms
        return answer


class BusyError(hw.TransientSourceError):
    """The same request works later."""


class _ExpiredError(hw.TransientSourceError):
    """The same request works with a new iterator."""


_PASSING: Final[Mapping[str, type[hw.TransientSourceError]]] = {
    "ExpiredIteratorException": _ExpiredError,
    "InternalFailure": hw.TransientSourceError,
    "KMSThrottlingException": hw.TransientSourceError,
    "LimitExceededException": BusyError,
    "ProvisionedThroughputExceededException": BusyError,
    "RequestTimeout": hw.TransientSourceError,
    "ResourceInUseException": hw.TransientSourceError,
    "ServiceUnavailable": hw.TransientSourceError,
    "ThrottlingException": BusyError,
}
"""Codes of errors that may pass."""


def _as_ours(error: Any, stream: str) -> Exception:
    code = error.response["Error"]["Code"]
    text = f"{code}: {error.response['Error'].get('Message', '')}"
    status = error.response["ResponseMetadata"].get("HTTPStatusCode", 0)
    if code in _PASSING or status >= _SERVER_ERROR:
        return _PASSING.get(code, hw.TransientSourceError)(text, source="kinesis")
    if code in _UNKNOWN_LOGIN:
        return hw.errors.AuthenticationError(f"the service refuses the credentials: {text}", source="kinesis")
    if code.startswith("AccessDenied"):
        return hw.errors.AuthorizationError(f"{text}; docs/kinesis.md names the actions", source="kinesis")
    if code == "ResourceNotFoundException":
        return hw.errors.UnknownSplitError(
            f"there is no such stream or shard in this region: {text}", source="kinesis", split=stream or None
        )
    if "did not come from this stream" in text:
        text += ". The stream was deleted and created anew: read it with a new checkpoint"
    return hw.errors.SourceError(text, source="kinesis", split=stream or None)


@functools.cache
def _loader() -> Any:
    """Return the reader of boto3's descriptions of services. It takes 40 ms, once a process."""
    from botocore.loaders import create_loader

    return create_loader()


def _client(settings: KinesisSettings) -> Any:
    try:
        import boto3
        import botocore.session
        from botocore.config import Config
        from botocore.exceptions import NoRegionError
    except ImportError as error:
        raise hw.errors.MissingDependencyError(
            "boto3", needed_for="the kinesis source", extra="kinesis"
        ) from error
    secrets = {
        argument: hw.options.kept_secret(written, f"option {name!r}")
        for argument, name, written in (
            ("aws_secret_access_key", "secretAccessKey", settings.secret_key),
            ("aws_session_token", "sessionToken", settings.token),
        )
        if written is not None
    }
    login = {"aws_access_key_id": settings.key_id} if settings.key_id is not None else {}
    # Without its retries: headwater has its own.
    config = Config(
        connect_timeout=_TIMEOUT_S,
        read_timeout=_TIMEOUT_S,
        retries={"total_max_attempts": 1},
        user_agent_extra="headwater",
    )
    session = botocore.session.get_session()
    session.register_component("data_loader", _loader())
    try:
        return boto3.Session(botocore_session=session).client(
            "kinesis",
            region_name=settings.region,
            endpoint_url=settings.endpoint,
            verify=settings.ca,
            config=config,
            **login,
            **secrets,
        )
    except NoRegionError as error:
        raise hw.errors.OptionError("is required: no AWS setting names one", option="region") from error

"""The client of AWS Glue's schema registry, by boto3."""

from __future__ import annotations

import functools
from typing import Any, Final

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    NoConnectionError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.imports import importing
from headwater.core.redaction import redacted
from headwater.core.secrets import kept_secret
from headwater.readers.formats.registry.glue_settings import GlueSettings
from headwater.readers.formats.registry.registry import SOURCE, RegisteredSchema, Registry, named

_TIMEOUT_S: Final = 10
_UNKNOWN_LOGIN: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_PASSING: Final = frozenset({"LimitExceededException", "RequestTimeout", "ThrottlingException"})
_SERVER_ERROR: Final = 500


class GlueRegistry(Registry):
    """Asks AWS Glue for versions of schemas.

    Args:
        settings: where it is.
    """

    def __init__(self, settings: GlueSettings) -> None:
        super().__init__(settings.deadline_ms)
        self._settings = settings

    def asked_for(
        self, schema_id: int, guid: str | None, until_ms: int, serialized: bool
    ) -> RegisteredSchema:
        what = named(schema_id, guid)

        def ask() -> RegisteredSchema:
            return _schema(self._ask(what, SchemaVersionId=guid), schema_id, what)

        return self.until_known(ask, what, until_ms)

    def by_version(self, subject: str, version: str, *, serialized: bool = False) -> RegisteredSchema:
        registry = self._settings.registry
        what = f"version {version} of the schema {subject!r} in the registry {registry!r}"
        number = {"LatestVersion": True} if version == "latest" else {"VersionNumber": int(version)}
        place = {"RegistryName": registry, "SchemaName": subject}

        def ask() -> RegisteredSchema:
            answer = self._ask(what, SchemaId=place, SchemaVersionNumber=number)
            return _schema(answer, self.id_of(answer["SchemaVersionId"]), what)

        return self.again(ask, what, self.until_ms())

    def _ask(self, what: str, **question: Any) -> Any:
        client = self._client
        from botocore import exceptions

        try:
            return client.get_schema_version(**question)
        except exceptions.ClientError as error:
            raise _as_ours(error, what) from error
        except exceptions.SSLError as error:
            raise SourceError(
                f"no connection to AWS Glue: {error}; see option 'glue.tlsCa'", source=SOURCE
            ) from error
        except (exceptions.HTTPClientError, exceptions.ConnectionError) as error:
            absent = exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError
            kind = NoConnectionError if isinstance(error, absent) else TransientSourceError
            raise kind(f"no answer from AWS Glue: {error}", source=SOURCE) from error
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
            raise AuthenticationError(
                f"{error}: give options 'glue.accessKeyId' and 'glue.secretAccessKey', or the settings that "
                "boto3 looks for",
                source=SOURCE,
            ) from error

    @functools.cached_property
    def _client(self) -> Any:
        with importing("AWS Glue's schema registry", extra="glue"):
            import boto3
            from botocore.config import Config
            from botocore.exceptions import NoRegionError
        settings = self._settings
        login = {
            argument: kept_secret(written, f"option {name!r}")
            for argument, name, written in (
                ("aws_access_key_id", "glue.accessKeyId", settings.key_id),
                ("aws_secret_access_key", "glue.secretAccessKey", settings.secret_key),
                ("aws_session_token", "glue.sessionToken", settings.token),
            )
            if written is not None
        }
        # Without its retries: headwater has its own.
        config = Config(
            connect_timeout=_TIMEOUT_S,
            read_timeout=_TIMEOUT_S,
            retries={"total_max_attempts": 1},
            user_agent_extra="headwater",
        )
        try:
            return boto3.Session().client(
                "glue",
                region_name=settings.region,
                endpoint_url=settings.endpoint,
                verify=settings.ca,
                config=config,
                **login,
            )
        except NoRegionError as error:
            raise OptionError("is required: no AWS setting names one", option="glue.region") from error
        except ValueError as error:
            raise OptionError(str(error), option="glue.endpointUrl") from error


def _schema(answer: Any, schema_id: int, what: str) -> RegisteredSchema:
    """Return the schema of an answer.

    Raises:
        UnknownSplitError: Glue has not checked it yet, or refused it.
    """
    status = answer.get("Status", "AVAILABLE")
    if status != "AVAILABLE":
        raise UnknownSplitError(f"AWS Glue has {what} in the state {status}", source=SOURCE)
    return RegisteredSchema(schema_id, answer["DataFormat"], answer["SchemaDefinition"], name=what)


def _as_ours(error: Any, what: str) -> SourceError:
    code = error.response["Error"]["Code"]
    text = redacted(f"{code}: {error.response['Error'].get('Message', '')}")
    status = error.response["ResponseMetadata"].get("HTTPStatusCode", 0)
    if code in _PASSING or status >= _SERVER_ERROR:
        return TransientSourceError(f"AWS Glue has no answer; {text}", source=SOURCE)
    if code in _UNKNOWN_LOGIN:
        return AuthenticationError(f"AWS Glue does not accept the credentials; {text}", source=SOURCE)
    if code.startswith("AccessDenied"):
        return AuthorizationError(
            f"AWS Glue refuses to show {what}: the login needs the action glue:GetSchemaVersion; {text}",
            source=SOURCE,
        )
    if code == "EntityNotFoundException":
        return UnknownSplitError(f"AWS Glue does not have {what} in this region; {text}", source=SOURCE)
    return SourceError(f"AWS Glue does not show {what}; {text}", source=SOURCE)

"""The options that say who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from headwater.connector.options import ParsedOptions
from headwater.connector.sources.http.paging_options import PARAMS, as_written, urls
from headwater.core.errors import OptionError
from headwater.core.options import WHERE_SECRETS_ARE, Option, json_object, one_of, text
from headwater.core.secrets import is_elsewhere
from headwater.readers.http.settings import CredentialSettings, OAuthSettings

HEADER: Final = "header."
_NAMED: Final = {
    "client_id": "oauthClientId",
    "client_secret": "oauthClientSecret",
    "scope": "oauthScope",
}
"""Parameters that have an option of their own."""


def _key_place(raw: str) -> tuple[str, str]:
    kind, colon, name = raw.strip().partition(":")
    if kind not in {"header", "query"} or not colon or not name:
        raise ValueError(f"must be header:NAME or query:NAME, not {raw!r}")
    return kind, name


def _oauth_params(raw: str) -> tuple[tuple[str, str], ...]:
    found = []
    for name, value in json_object(raw).items():
        if name in _NAMED:
            raise ValueError(f"must not have {name!r}: give option {_NAMED[name]!r}")
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str | int | float) for each in values):
            raise ValueError(f"value of {name!r} must be a string, a number or a list of these")
        found += [(name, as_written(each)) for each in values]
    return tuple(found)


_BEARER: Final = Option("bearerToken", text, None, f"A token. {WHERE_SECRETS_ARE}")
_USERNAME: Final = Option("username", text, None, f"Of basic authentication. {WHERE_SECRETS_ARE}")
_PASSWORD: Final = Option("password", text, None, f"Of that user. {WHERE_SECRETS_ARE}")
_API_KEY: Final = Option("apiKey", text, None, f"A key. {WHERE_SECRETS_ARE}")
_API_KEY_IN: Final = Option(
    "apiKeyIn",
    _key_place,
    ("header", "X-API-Key"),
    "Where the key goes: `header:NAME` or `query:NAME`.",
    shown_default="`header:X-API-Key`",
)
TOKEN_URL: Final = Option(
    "oauthTokenUrl",
    urls,
    None,
    "Where tokens are got (OAuth 2, client credentials); a new one when a request is refused with 401.",
)
_CLIENT_ID: Final = Option("oauthClientId", text, None, f"For `oauthTokenUrl`. {WHERE_SECRETS_ARE}")
_CLIENT_SECRET: Final = Option("oauthClientSecret", text, None, f"For `oauthTokenUrl`. {WHERE_SECRETS_ARE}")
_SCOPE: Final = Option(
    "oauthScope", text, None, "For `oauthTokenUrl`: what is asked for, with blanks between."
)
_CLIENT_IN: Final[Option[Literal["body", "header"]]] = Option(
    "oauthClientIn",
    one_of("body", "header"),
    "body",
    "Where `oauthTokenUrl` wants id and secret: in the `body`, or in a `header` of basic authentication.",
)
_OAUTH_PARAMS: Final[Option[tuple[tuple[str, str], ...]]] = Option(
    "oauthParams",
    _oauth_params,
    (),
    'JSON: what `oauthTokenUrl` wants beside these, such as `{"audience": "https://api.example.com"}`; a '
    "list is a parameter that comes several times. A value may be `env:NAME` or `file:PATH`.",
    shown_default="",
    kind="json",
)
CREDENTIAL_OPTIONS: Final = (
    _BEARER,
    _USERNAME,
    _PASSWORD,
    _API_KEY,
    _API_KEY_IN,
    TOKEN_URL,
    _CLIENT_ID,
    _CLIENT_SECRET,
    _SCOPE,
    _CLIENT_IN,
    _OAUTH_PARAMS,
)


def credential_settings(parsed: ParsedOptions, options: Mapping[str, str]) -> CredentialSettings:
    """Return what requests carry to the hosts that the user named.

    Raises:
        OptionError: options do not go together.
    """
    headers = {key[len(HEADER) :]: value for key, value in options.items() if key.lower().startswith(HEADER)}
    parameters = {
        name: value
        for name, value in parsed[PARAMS].items()
        if isinstance(value, str) and is_elsewhere(value)
    }
    if parsed[_USERNAME] is None:
        _refuse_without(parsed, _PASSWORD, _USERNAME)
    api_key = parsed[_API_KEY]
    if api_key is None:
        _refuse_without(parsed, _API_KEY_IN, _API_KEY)
    else:
        place, key_name = parsed[_API_KEY_IN]
        (headers if place == "header" else parameters)[key_name] = api_key
    values = {
        _BEARER.name: parsed[_BEARER],
        _USERNAME.name: parsed[_USERNAME],
        TOKEN_URL.name: parsed[TOKEN_URL],
    }
    ways = [name for name, value in values.items() if value is not None]
    if len(ways) > 1:
        raise OptionError(f"does not go with option {ways[1]!r}", option=ways[0])
    return CredentialSettings(
        headers=headers,
        parameters=parameters,
        bearer=parsed[_BEARER],
        user=parsed[_USERNAME],
        password=parsed[_PASSWORD],
        oauth=_oauth_settings(parsed),
    )


def _oauth_settings(parsed: ParsedOptions) -> OAuthSettings | None:
    token_urls = parsed[TOKEN_URL]
    if token_urls is None:
        for option in (_CLIENT_ID, _CLIENT_SECRET, _SCOPE, _CLIENT_IN, _OAUTH_PARAMS):
            _refuse_without(parsed, option, TOKEN_URL)
        return None
    hint = f" with option {TOKEN_URL.name!r}"
    return OAuthSettings(
        url=token_urls[0],
        client_id=parsed.require(_CLIENT_ID, hint),
        client_secret=parsed.require(_CLIENT_SECRET, hint),
        scope=parsed[_SCOPE],
        parameters=parsed[_OAUTH_PARAMS],
        in_header=parsed[_CLIENT_IN] == "header",
    )


def _refuse_without(parsed: ParsedOptions, option: Option[Any], other: Option[Any]) -> None:
    if parsed[option] != option.default:
        raise OptionError(f"requires option {other.name!r}", option=option.name)

"""The options that say who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headwater.connector.options import WHERE_SECRETS_ARE, Option, ParsedOptions, text
from headwater.connector.sources.http.paging_options import PARAMS, urls
from headwater.core.errors import OptionError
from headwater.core.secrets import is_elsewhere
from headwater.readers.http.settings import CredentialSettings

HEADER: Final = "header."


def _key_place(raw: str) -> tuple[str, str]:
    kind, colon, name = raw.strip().partition(":")
    if kind not in {"header", "query"} or not colon or not name:
        raise ValueError(f"must be header:NAME or query:NAME, not {raw!r}")
    return kind, name


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
_SCOPE: Final = Option("oauthScope", text, None, "For `oauthTokenUrl`.")
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
)


def credential_settings(parsed: ParsedOptions, options: Mapping[str, str]) -> CredentialSettings:
    """Return what requests carry to the hosts that the user named.

    Raises:
        OptionError: options do not go together.
    """
    headers = {key[len(HEADER) :]: value for key, value in options.items() if key.lower().startswith(HEADER)}
    parameters = {name: value for name, value in parsed[PARAMS].items() if is_elsewhere(value)}
    api_key = parsed[_API_KEY]
    if api_key is not None:
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
    token_urls = parsed[TOKEN_URL]
    if token_urls is not None:
        for option in (_CLIENT_ID, _CLIENT_SECRET):
            parsed.require(option, f" with option {TOKEN_URL.name!r}")
    return CredentialSettings(
        headers=headers,
        parameters=parameters,
        bearer=parsed[_BEARER],
        user=parsed[_USERNAME],
        password=parsed[_PASSWORD],
        token_url=token_urls[0] if token_urls else None,
        client_id=parsed[_CLIENT_ID],
        client_secret=parsed[_CLIENT_SECRET],
        scope=parsed[_SCOPE],
    )

"""Who asks a REST API: credentials, and how tokens are got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal

from headwater.core.options import WHERE_SECRETS_ARE, Spec, json_object, one_of, option
from headwater.enumerators.http.origins import as_written, urls

_OF_OAUTH: Final = {
    "client_id": "oauthClientId",
    "client_secret": "oauthClientSecret",
    "scope": "oauthScope",
}
"""Parameters that have an option of their own."""


def _oauth_parameters(raw: str) -> tuple[tuple[str, str], ...]:
    parameters: list[tuple[str, str]] = []
    for name, value in json_object(raw).items():
        if name in _OF_OAUTH:
            raise ValueError(f"must not have {name!r}: give option {_OF_OAUTH[name]!r}")
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str | int | float) for each in values):
            raise ValueError(f"value of {name!r} must be a string, a number or a list of these")
        parameters += [(name, as_written(each)) for each in values]
    return tuple(parameters)


class OAuthSettings(Spec):
    """How a token is got with client credentials. Hashable: what names the token among those that are kept.

    The values of ``client_id``, ``client_secret`` and ``parameters`` may be as
    `headwater.core.secrets.resolved_secret` takes them.
    """

    url: str = option(
        "oauthTokenUrl",
        "Where tokens are got (OAuth 2, client credentials); a new one when a request is refused with 401.",
        default="",
        parse=lambda raw: urls(raw)[0],
        shown_default="",
    )
    client_id: str = option(
        "oauthClientId", f"For `oauthTokenUrl`. {WHERE_SECRETS_ARE}", default="", shown_default=""
    )
    client_secret: str = option(
        "oauthClientSecret", f"For `oauthTokenUrl`. {WHERE_SECRETS_ARE}", default="", shown_default=""
    )
    scope: str | None = option(
        "oauthScope", "For `oauthTokenUrl`: what is asked for, with blanks between.", default=None
    )
    client_in: Literal["body", "header"] = option(
        "oauthClientIn",
        "Where `oauthTokenUrl` wants id and secret: in the `body`, or in a `header` of basic authentication.",
        default="body",
        parse=one_of("body", "header"),
    )
    parameters: tuple[tuple[str, str], ...] = option(
        "oauthParams",
        'JSON: what `oauthTokenUrl` wants beside these, such as `{"audience": "https://api.example.com"}`; a '
        "list is a parameter that comes several times. A value may be `env:NAME` or `file:PATH`.",
        default=(),
        parse=_oauth_parameters,
        shown_default="",
        kind="json",
    )

    def __post_init__(self) -> None:
        for name, row in self.OPTIONS.items():
            if not self.url and getattr(self, name) != row.default:
                raise self.refusal(name, f"requires option {self.OPTIONS['url'].name!r}")
        for name in ("client_id", "client_secret"):
            if self.url and not getattr(self, name):
                raise self.refusal(name, f"is required with option {self.OPTIONS['url'].name!r}")


class CredentialSettings(Spec):
    """Who asks. Every value may be as `headwater.core.secrets.resolved_secret` takes it. Never shown.

    Attributes:
        headers: sent with each request.
        parameters: added to the query of each request. They are in no URL that is kept or shown.
        key_name: the header or parameter with a key; None if there is none.
        oauth: how a token is got; None if none is.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    key_name: str | None = None
    bearer: str | None = option("bearerToken", f"A token. {WHERE_SECRETS_ARE}", default=None)
    user: str | None = option("username", f"Of basic authentication. {WHERE_SECRETS_ARE}", default=None)
    password: str | None = option("password", f"Of that user. {WHERE_SECRETS_ARE}", default=None)
    oauth: OAuthSettings | None = None

    def __post_init__(self) -> None:
        if self.user is None and self.password is not None:
            raise self.refusal("password", f"requires option {self.OPTIONS['user'].name!r}")
        ways = [name for name in ("bearer", "user") if getattr(self, name) is not None]
        options = [self.OPTIONS[name].name for name in ways]
        if self.oauth is not None:
            options.append(self.oauth.OPTIONS["url"].name)
        if len(options) > 1:
            raise self.refusal(ways[0], f"does not go with option {options[1]!r}")

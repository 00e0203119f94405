"""Who asks: what requests carry to the hosts that the user named, and to no other."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus

import msgspec

from headwater.core.errors import AuthenticationError, TransientSourceError
from headwater.core.secrets import resolved_secret
from headwater.readers.http.kept_tokens import TOKENS, TokenRequest
from headwater.readers.http.settings import TRANSIENT, CredentialSettings

_LEAST_SECRET: Final = 4
"""Fewer characters are no secret, and stand in many words."""
_PLAIN: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""Headers that hold no secret."""


class Credentials:
    """Belongs to one thread. Secrets are read where they lie with each request, so they may change.

    Args:
        settings: where they lie.
        post: asks a token's URL, with a form; returns status and body.
    """

    def __init__(
        self, settings: CredentialSettings, post: Callable[[str, Mapping[str, str]], tuple[int, bytes]]
    ) -> None:
        self._settings = settings
        self._post = post
        self._request = TokenRequest.of(settings)
        self._token: str | None = None
        self._sent: tuple[Mapping[str, str], ...] = ({}, {})
        self._secrets: set[str] = set()

    def read(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the headers of a request, and what is added to its query.

        Raises:
            SourceError: a secret cannot be read in this process, or no token is given out.
            TransientSourceError: no token is given out now.
        """
        headers = self._headers()
        parameters = self._parameters()
        self._sent = headers, parameters
        secret = [value for name, value in headers.items() if name.lower() not in _PLAIN]
        # Behind the scheme: an answer may repeat the token alone.
        self._note_secrets(*secret, *(value.rpartition(" ")[2] for value in secret), *parameters.values())
        return headers, parameters

    def refused(self) -> bool:
        """Take note that they were not accepted.

        Returns:
            Whether there are others now: a new token, or a secret that has changed since it was read.
        """
        if self._request is not None and self._token is not None:
            TOKENS.forget(self._request, self._token)
            return True
        return (self._headers(), self._parameters()) != self._sent

    def hidden(self, text: str) -> str:
        """Return a text without secrets: some servers repeat in an answer what they were asked with."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def _headers(self) -> dict[str, str]:
        settings = self._settings
        written = settings.headers
        found = {name: resolved_secret(value, f"option 'header.{name}'") for name, value in written.items()}
        if settings.bearer is not None:
            found["Authorization"] = f"Bearer {resolved_secret(settings.bearer, 'option bearerToken')}"
        elif settings.user is not None:
            user = resolved_secret(settings.user, "option 'username'")
            password = resolved_secret(settings.password or "", "option 'password'")
            self._note_secrets(password)
            found["Authorization"] = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
        elif self._request is not None:
            self._token = TOKENS.get(self._request) or self._new_token(self._request)
            found["Authorization"] = f"Bearer {self._token}"
        return found

    def _parameters(self) -> dict[str, str]:
        return {
            name: resolved_secret(value, f"parameter {name!r} of option 'params'")
            for name, value in self._settings.parameters.items()
        }

    def _note_secrets(self, *values: str) -> None:
        for value in values:
            if len(value) >= _LEAST_SECRET:
                self._secrets.update((value, quote(value, safe=""), quote_plus(value)))

    def _new_token(self, request: TokenRequest) -> str:
        secret = resolved_secret(request.client_secret, "option 'oauthClientSecret'")
        self._note_secrets(secret)
        form = {
            "grant_type": "client_credentials",
            "client_id": resolved_secret(request.client_id, "option 'oauthClientId'"),
            "client_secret": secret,
        }
        if request.scope is not None:
            form["scope"] = request.scope
        status, body = self._post(request.url, form)
        try:
            token = msgspec.json.decode(body, type=dict[str, Any]).get("access_token")
        except (msgspec.MsgspecError, RecursionError):
            token = None
        if status == 200 and isinstance(token, str):
            TOKENS.keep(request, token)
            return token
        said = f"oauthTokenUrl gives out no token: HTTP {status}"
        if status in TRANSIENT:
            raise TransientSourceError(said, source="http", split=request.url)
        raise AuthenticationError(
            f"{said}; check oauthClientId and oauthClientSecret", source="http", split=request.url
        )

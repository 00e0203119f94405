"""Who asks: what requests carry to the hosts that the user named, and to no other."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from headwater.core.errors import AuthenticationError
from headwater.core.secrets import resolved_secret
from headwater.readers.http.settings import CredentialSettings


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
        self._token: str | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers of a request.

        Raises:
            SourceError: a secret cannot be read in this process, or no token is given out.
        """
        settings = self._settings
        written = settings.headers
        found = {name: resolved_secret(value, f"option 'header.{name}'") for name, value in written.items()}
        if settings.bearer is not None:
            found["Authorization"] = f"Bearer {resolved_secret(settings.bearer, 'option bearerToken')}"
        elif settings.user is not None:
            user = resolved_secret(settings.user, "option 'username'")
            password = resolved_secret(settings.password or "", "option 'password'")
            found["Authorization"] = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
        elif settings.token_url is not None:
            self._token = self._token or self._new_token(settings.token_url)
            found["Authorization"] = f"Bearer {self._token}"
        return found

    def parameters(self) -> dict[str, str]:
        """Return what is added to the query of a request.

        Raises:
            SourceError: a secret cannot be read in this process.
        """
        return {
            name: resolved_secret(value, f"parameter {name!r} of option 'params'")
            for name, value in self._settings.parameters.items()
        }

    def refused(self) -> bool:
        """Take note that they were not accepted; return whether there will be others: a new token."""
        had_token = self._token is not None
        self._token = None
        return had_token

    def _new_token(self, url: str) -> str:
        settings = self._settings
        form = {
            "grant_type": "client_credentials",
            "client_id": resolved_secret(settings.client_id or "", "option 'oauthClientId'"),
            "client_secret": resolved_secret(settings.client_secret or "", "option 'oauthClientSecret'"),
        }
        if settings.scope is not None:
            form["scope"] = settings.scope
        status, body = self._post(url, form)
        try:
            token = msgspec.json.decode(body, type=dict[str, Any]).get("access_token")
        except (msgspec.MsgspecError, RecursionError):
            token = None
        if status != 200 or not isinstance(token, str):
            raise AuthenticationError(
                f"oauthTokenUrl gives out no token: HTTP {status}; check oauthClientId and oauthClientSecret",
                source="http",
                split=url,
            )
        return token

"""Credentials: requests carry them to the hosts that the user named, and to no other."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote_plus

import msgspec

from headwater.core.errors import AuthenticationError, TransientSourceError
from headwater.core.redaction import hidden_in, keep_secret, redacted
from headwater.core.secrets import is_elsewhere, kept_secret, resolved_secret
from headwater.enumerators.http.origins import origin
from headwater.readers.http.credential_settings import CredentialSettings, OAuthSettings
from headwater.readers.http.response import HttpResponse
from headwater.readers.http.settings import TRANSIENT


class TokenCache:
    """The last token for each request, until a server refuses it. Any thread.

    Without it each micro-batch would get a token of its own for each of its connections, of which many
    servers give out few. Threads that find none at the same time get one each.
    """

    def __init__(self) -> None:
        # Each step is one operation of the dict, so no lock is needed, which a fork could leave held.
        self._tokens: dict[OAuthSettings, str] = {}

    def get(self, request: OAuthSettings) -> str | None:
        """Return the token, None if there is none."""
        return self._tokens.get(request)

    def keep(self, request: OAuthSettings, token: str) -> None:
        """Take a token that was just given out."""
        self._tokens[request] = token

    def forget(self, request: OAuthSettings, token: str) -> None:
        """Take note that a token was refused. A newer one, which another thread got, stays."""
        if self._tokens.get(request) == token:
            self._tokens.pop(request, None)

    def clear(self) -> None:
        """Forget all."""
        self._tokens.clear()


TOKENS: Final = TokenCache()
"""The tokens of this process. They outlive tasks: from one micro-batch to the next."""


_SHOWN: Final = 400
"""How many characters of a refusal are shown."""
_PLAIN: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""Headers that hold no secret, whatever their values."""
_SECRET: Final = re.compile("auth|cookie|credential|key|passw|secret|session|signature|token", re.IGNORECASE)
"""Is in the name of each header that holds one."""


class TokenLaterError(TransientSourceError):
    """The server of tokens gives out none now.

    Attributes:
        answer: of that server, which may say when it will.
    """

    def __init__(self, message: str, answer: HttpResponse) -> None:
        super().__init__(message, source="http", split=answer.url)
        self.answer = answer


class Credentials:
    """Belongs to one thread. Secrets are read where they lie with each request, so they may change.

    Args:
        settings: where they lie.
        post: asks a token's URL, with headers and a form.
    """

    def __init__(
        self,
        settings: CredentialSettings,
        post: Callable[[str, Mapping[str, str], Sequence[tuple[str, str]]], HttpResponse],
    ) -> None:
        self._settings = settings
        self._post = post
        self._token: str | None = None
        self._sent: tuple[Mapping[str, str], ...] = ({}, {})
        self._unnamed: frozenset[str] = frozenset()

    def read(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the headers of a request, and the parameters added to its query.

        Raises:
            SourceError: a secret cannot be read in this process, or no token is given out.
            TokenLaterError: no token is given out now.
            TransientSourceError: its server does not answer.
        """
        headers = self._headers()
        parameters = self._parameters()
        self._sent = headers, parameters
        settings = self._settings
        sent = [(name, value, settings.headers.get(name, "")) for name, value in headers.items()]
        sent += [(name, value, settings.parameters[name]) for name, value in parameters.items()]
        secrets = {value for name, value, written in sent if self._is_secret(name, written)}
        # Behind the scheme: an answer may repeat the token alone.
        keep_secret(*secrets, *(value.rpartition(" ")[2] for value in secrets))
        # Others may be a year or a page size, words that a log line has: they are hidden in answers alone.
        others = {value for name, value, _ in sent if name.lower() not in _PLAIN}
        self._unnamed = frozenset(others - secrets)
        return headers, parameters

    @property
    def token_servers(self) -> list[str]:
        """The origin that gives out tokens, if one is to be got."""
        oauth = self._settings.oauth
        return [] if oauth is None or TOKENS.get(oauth) is not None else [origin(oauth.url)]

    def refused(self) -> bool:
        """Take note that they were not accepted.

        Returns:
            Whether there are others now: a new token, or a secret that has changed since it was read.
        """
        oauth = self._settings.oauth
        if oauth is not None and self._token is not None:
            TOKENS.forget(oauth, self._token)
            return True
        return (self._headers(), self._parameters()) != self._sent

    def hidden(self, text: str) -> str:
        """Return a text without secrets: some servers repeat the request in an answer."""
        return redacted(hidden_in(text, self._unnamed))

    def _is_secret(self, name: str, written: str) -> bool:
        """Whether a header or parameter holds a secret of this process, by its name or how it is written."""
        return is_elsewhere(written) or name == self._settings.key_name or bool(_SECRET.search(name))

    def _headers(self) -> dict[str, str]:
        settings = self._settings
        written = settings.headers
        headers = {name: resolved_secret(value, f"option 'header.{name}'") for name, value in written.items()}
        if settings.bearer is not None:
            token = resolved_secret(settings.bearer, "option 'bearerToken'")
            headers["Authorization"] = f"Bearer {token}"
        elif settings.user is not None:
            user = resolved_secret(settings.user, "option 'username'")
            password = kept_secret(settings.password or "", "option 'password'")
            headers["Authorization"] = _basic(user, password)
        elif settings.oauth is not None:
            self._token = TOKENS.get(settings.oauth) or self._new_token(settings.oauth)
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _parameters(self) -> dict[str, str]:
        return {
            name: resolved_secret(value, f"parameter {name!r} of option 'params'")
            for name, value in self._settings.parameters.items()
        }

    def _new_token(self, oauth: OAuthSettings) -> str:
        answer = self._post(oauth.url, *self._token_request(oauth))
        try:
            fields = msgspec.json.decode(answer.body, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            fields = {}
        token = fields.get("access_token")
        if answer.status == 200 and isinstance(token, str):
            TOKENS.keep(oauth, token)
            return token
        # As OAuth names them: without them nobody knows which of the options to look at.
        why = [f"{fields[name]}" for name in ("error", "error_description") if fields.get(name)]
        text = self.hidden(": ".join([f"oauthTokenUrl gives out no token: HTTP {answer.status}", *why]))[
            :_SHOWN
        ]
        if answer.status in TRANSIENT:
            raise TokenLaterError(text, answer)
        raise AuthenticationError(
            f"{text}; check oauthClientId, oauthClientSecret, oauthClientIn, oauthScope and oauthParams",
            source="http",
            split=oauth.url,
        )

    def _token_request(self, oauth: OAuthSettings) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Return headers and form. The user's parameters replace those of OAuth."""
        client = resolved_secret(oauth.client_id, "option 'oauthClientId'")
        secret = kept_secret(oauth.client_secret, "option 'oauthClientSecret'")
        checked = []
        for name, written in oauth.parameters:
            value = resolved_secret(written, f"parameter {name!r} of option 'oauthParams'")
            # Others, such as an audience, are no secrets, and help in errors.
            if is_elsewhere(written):
                keep_secret(value)
            checked.append((name, value))
        form = {"grant_type": "client_credentials"}
        headers = {}
        if oauth.client_in == "header":
            # Encoded before they are joined, as RFC 6749 wants it (2.3.1).
            headers["Authorization"] = _basic(quote_plus(client), quote_plus(secret))
            keep_secret(headers["Authorization"].rpartition(" ")[2])
        else:
            form |= {"client_id": client, "client_secret": secret}
        if oauth.scope is not None:
            form["scope"] = oauth.scope
        names = {name for name, _ in checked}
        return headers, [*(pair for pair in form.items() if pair[0] not in names), *checked]


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"

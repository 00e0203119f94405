"""Tokens that outlive tasks: a Python worker process keeps them from one micro-batch to the next."""

from __future__ import annotations

from typing import Final

from headwater.readers.http.settings import OAuthSettings


class KeptTokens:
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


TOKENS: Final = KeptTokens()
"""Those of this process."""

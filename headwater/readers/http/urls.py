"""URLs as pages and users write them, and as they are asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from headwater.enumerators.http.origins import origin

_LEGAL: Final = "!#$%&'()*+,/:;=?@[]~-._"
"""Characters that stay in a URL: all others are percent-encoded."""
_MOST_CHARACTERS: Final = 16_384


def absolute(base: str, link: str) -> str:
    """Return where a link leads that stands in the answer of a URL.

    Raises:
        ValueError: it leads nowhere.
    """
    if len(link) > _MOST_CHARACTERS:
        raise ValueError(f"a link has {len(link)} characters: {link[:200]!r}...")
    url = quote(urljoin(base, link.strip()), safe=_LEGAL)
    origin(url)
    return url


def with_parameters(url: str, parameters: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return a URL whose query has these parameters, in place of others of their names.

    One with several values comes as often.
    """
    if not parameters:
        return url
    parts = urlsplit(without_parameters(url, parameters))
    query = "&".join(filter(None, (parts.query, urlencode(parameters, doseq=True))))
    return urlunsplit(parts._replace(query=query))


def without_parameters(url: str, names: Collection[str]) -> str:
    """Return a URL without some parameters of its query. The others stay as they are written."""
    if not names:
        return url
    parts = urlsplit(url)
    pieces = [each for each in parts.query.split("&") if _name(each) not in names]
    return urlunsplit(parts._replace(query="&".join(pieces)))


def parameter(url: str, name: str) -> str | None:
    """Return a parameter of a URL's query, None if it has none of that name."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)).get(name)


def hidden(text: str, names: Collection[str]) -> str:
    """Return a text without parameters of these names in the URLs that stand in it."""
    if not names:
        return text
    return re.sub(r"https?://\S+", lambda match: without_parameters(match.group(), names), text)


def _name(text: str) -> str:
    return next((name for name, _ in parse_qsl(text, keep_blank_values=True)), "")

"""The tables of README.md and docs/performance.md, between marks that name the benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results import Section, measured, table

__all__ = ["renew"]


def renew(text: str, sections: Sequence[Section], environment: Mapping[str, Any]) -> str:
    """Return a page's text with the tables of these benchmarks, where it has marks for them.

    ``<!-- throughput -->`` stands before the table of `throughput`, and ``<!-- /throughput -->`` after it.
    """
    for section in sections:
        begin = f"<!-- {section.name} -->\n"
        end = f"<!-- /{section.name} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            lines = (*table(section.header, section.rows), "", measured(environment), "")
            text = before + begin + "\n".join(lines) + end + after
    return text

"""How a table of options is shown: in the docs, at a prompt, in a notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import fill
from typing import Final

_HEAD: Final = ("option", "default", "for", "meaning")
_INDENT: Final = "    "
_BOTH: Final = "both"


@dataclass(frozen=True)
class ShownOption:
    """What a table says of an option; code in it is between back-quotes.

    Attributes:
        name: of the option.
        default: empty if there is none.
        mode: ``batch``, ``stream`` or ``both``.
        meaning: one or two sentences.
    """

    name: str
    default: str
    mode: str
    meaning: str

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Its line in the table."""
        return f"`{self.name}`", self.default, self.mode, self.meaning


def markdown(rows: Iterable[ShownOption]) -> str:
    """Return a table of Markdown."""
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (_HEAD, *(row.cells for row in rows)))
    return "\n".join([head, "|---" * len(_HEAD) + "|", *lines])


def plain_text(rows: Iterable[ShownOption]) -> str:
    """Return an option a line, with its default, and its meaning below."""
    return "\n".join(_paragraph(row) for row in rows)


def html_table(rows: Iterable[ShownOption]) -> str:
    """Return a table of HTML."""
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    lines = "".join(f"<tr>{''.join(map(_html_cell, row.cells))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{lines}</table>"


def _paragraph(row: ShownOption) -> str:
    told = [row.default.replace("`", ""), "" if row.mode == _BOTH else f"{row.mode} only"]
    between = ", ".join(filter(None, told))
    first = f"{row.name} ({between})" if between else row.name
    return f"{first}\n{fill(row.meaning, initial_indent=_INDENT, subsequent_indent=_INDENT)}"


def _html_cell(text: str) -> str:
    """Return a cell with the little Markdown that there is as HTML: code, and nothing else."""
    content = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))
    return f'<td style="text-align: left">{content}</td>'

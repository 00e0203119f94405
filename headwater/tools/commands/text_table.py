"""Rows as a table of text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

WIDEST_CELL: Final = 40
"""In characters."""


def text_table(
    names: Sequence[str], rows: Sequence[Sequence[object]], *, widest_cell: int = WIDEST_CELL
) -> Iterator[str]:
    """Yield the lines of a table: the names, a rule, and the rows.

    A long cell is cut, which shows as ``...``.

    Args:
        names: of the columns.
        rows: each with a value for every column.
        widest_cell: where cells are cut, in characters.
    """
    cells = [[_cell(value, widest_cell) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    yield _line(names, widths)
    yield "  ".join("-" * width for width in widths).rstrip()
    yield from (_line(row, widths) for row in cells)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cell(value: object, widest: int) -> str:
    text = _text(value) if isinstance(value, bytes) else "null" if value is None else str(value)
    # One row is one line, whatever it holds.
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= widest else f"{line[: widest - 3]}..."


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex(" ")

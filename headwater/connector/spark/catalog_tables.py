"""Tables of Spark's catalog: what SQL's ``CREATE TABLE ... USING headwater`` is answered with.

Spark 4.2 and 4.3 keep the options of such a table and pass none of them when the table is read
(``PythonDataSourceV2`` gets an empty map at each ``SELECT``). A temporary view keeps its options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headwater.core.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_CATALOG: Final = frozenset({"provider", "owner"})
"""What Spark's catalog adds to the options that ``CREATE TABLE`` names."""

_INSTEAD: Final = (
    "CREATE TEMPORARY VIEW name USING {name} OPTIONS (source 'kafka', ...) works, once in each session; so "
    "does SELECT * FROM name WITH (`source` = 'kafka', ...) on a table with all columns of the source"
)


def refuse_table(options: Mapping[str, str], name: str) -> None:
    """Refuse ``CREATE TABLE``: called in the planner process, once for each statement.

    Args:
        options: as Spark passes them, keys in any case.
        name: what ``USING`` says.

    Raises:
        OptionError: the options are those of ``CREATE TABLE``.
    """
    keys = {key.lower() for key in options}
    if keys >= _OF_CATALOG and options.get("provider") == name:
        raise OptionError(
            f"CREATE TABLE ... USING {name} would make a table that cannot be read: Spark passes none of a "
            f"table's options when it is read. {_INSTEAD.format(name=name)}"
        )


def refuse_no_options(options: Mapping[str, str], name: str) -> None:
    """Say why there are no options at all, where one is required.

    Raises:
        OptionError: there are none.
    """
    if not options:
        raise OptionError(
            "is required, and no option arrived at all. If this is a table of CREATE TABLE ... USING "
            f"{name}: Spark passes none of a table's options when it is read. {_INSTEAD.format(name=name)}",
            option="source",
        )

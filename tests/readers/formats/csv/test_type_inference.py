"""Types of columns, as Spark's `CSVInferSchema` finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.csv.type_inference import ColumnTypes
from headwater.readers.formats.format import FormatOptions


def inferred(values: Sequence[str | None], *, prefer_date: bool = True, **options: Any) -> str:
    """Return the type of a column, whose values come in two parts."""
    types = ColumnTypes(1, CsvDialect(), FormatOptions(**options), prefer_date=prefer_date)
    for part in (values[: len(values) // 2], values[len(values) // 2 :]):
        types.add(0, pa.array(part, pa.string()))
    return str(types.types()[0])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "string"),
        ([None, ""], "string"),
        (["1", "-5", None], "int32"),
        (["1", "3000000000"], "int64"),
        (["1", "92233720368547758080"], "decimal128(20, 0)"),
        (["1", "2.5"], "double"),
        (["NaN", "Inf", "1"], "double"),
        (["true", "FALSE"], "bool"),
        (["1", "true"], "string"),
        (["2024-01-05", "2024-02-29"], "date32[day]"),
        (["2024-01-05", "2024-01-05 10:11:12"], "timestamp[us, tz=UTC]"),
        (["2024-01-05T10:11:12Z", "2024-01-05 10:11:12 Europe/Paris"], "timestamp[us, tz=UTC]"),
        (["2024-01-05", "1"], "string"),
        (["1", "x"], "string"),
        (["1" * 39], "double"),
    ],
    ids=str,
)
def test_a_column_has_the_narrowest_type_of_all_its_values(values: list[str | None], kind: str) -> None:
    assert inferred(values) == kind


def test_dates_are_times_where_they_are_not_preferred() -> None:
    assert inferred(["2024-01-05"], prefer_date=False) == "timestamp[us, tz=UTC]"


def test_a_pattern_says_what_a_date_is() -> None:
    assert inferred(["05/01/2024"], date_format="dd/MM/yyyy") == "date32[day]"
    assert inferred(["05/01/2024"]) == "string"


def test_many_zones_are_looked_up_one_after_the_other() -> None:
    zones = ["Europe/Paris", "Asia/Tokyo", "America/New_York", "Australia/Sydney"]
    assert inferred([f"2024-01-05 10:11:12 {zone}" for zone in zones * 5]) == "timestamp[us, tz=UTC]"

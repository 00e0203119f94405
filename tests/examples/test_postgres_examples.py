"""The example of changes that are applied to a target, as a reader runs it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from examples import postgres_stream
from local_postgres import LocalPostgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_the_target_is_the_table_as_it_was_at_the_end_of_a_transaction(
    spark: SparkSession, postgres: LocalPostgres
) -> None:
    assert postgres_stream.main(spark, postgres.conninfo) == [
        (1, "tea", Decimal("4.00")),
        (7, "milk", Decimal("1.20")),
    ]

"""The typed readers in the repository are those that the tables of options say."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater
from headwater.connector.typed.writing import modules

TYPED = Path(headwater.__file__).parent / "connector" / "typed"


MODULES = dict(modules())


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_reader_is_what_its_table_says(path: Path) -> None:
    """When it fails: ``python -m headwater.connector.typed.writing``."""
    assert (TYPED / path).read_text() == MODULES[path]

"""One value, one text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.jsons import canonical, dumps

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_a_canonical_value_is_equal_and_survives_json(value: Any) -> None:
    assert canonical(value) == value
    assert json.loads(dumps(value)) == value
    assert dumps(json.loads(dumps(value))) == dumps(value)


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert dumps(dict(reversed(value.items()))) == dumps(value)  # type: ignore[arg-type]
    assert list(canonical(value)) == sorted(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [{1: 2}, {"a": {3}}, (1, 2), b"x", float("nan"), float("inf"), object()])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"JSON"):
        dumps(value)

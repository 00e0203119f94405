"""The lowest versions that bounds allow, as constraints for pip."""

from __future__ import annotations

from lowest_versions import lowest_versions


def test_each_lower_bound_is_a_constraint_and_nothing_else_is() -> None:
    requirements = ["pyspark>=4.2", "kafka-python>=3.0.9,<3.1", "numba<0.69", "fsspec", "setuptools>=77"]
    extras = ["urllib3[brotli,zstd]>=2.7", "waitress>=3.0.1; python_version>'3'", "pyspark>=4.2"]
    assert lowest_versions([*requirements, *extras]) == [
        "kafka-python==3.0.9",
        "pyspark==4.2",
        "urllib3==2.7",
        "waitress==3.0.1",
    ]

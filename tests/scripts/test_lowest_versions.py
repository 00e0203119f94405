"""The lowest versions that bounds allow, as constraints for pip."""

from __future__ import annotations

import tomllib
from pathlib import Path

from lowest_versions import lowest_versions

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_each_lower_bound_is_a_constraint_and_nothing_else_is() -> None:
    requirements = ["pyspark>=4.2", "kafka-python>=3.0.9,<3.1", "numba<0.69", "fsspec", "setuptools>=77"]
    extras = ["urllib3[brotli,zstd]>=2.7", "waitress>=3.0.1; python_version>'3'", "pyspark>=4.2"]
    assert lowest_versions([*requirements, *extras]) == [
        "kafka-python==3.0.9",
        "pyspark==4.2",
        "urllib3==2.7",
        "waitress==3.0.1",
    ]


def test_all_that_users_install_has_a_lower_bound_and_no_package_has_two() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [*project["dependencies"], *(each for name in extras.keys() - {"test"} for each in extras[name])]
    assert [each for each in users if not lowest_versions([each])] == []
    names = [each.partition("==")[0] for each in lowest_versions([*users, *extras["test"]])]
    assert len(names) == len(set(names))

"""``scripts/setup`` says how far it is, while pip fetches and installs for minutes."""

from __future__ import annotations

import subprocess
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "scripts" / "setup"
OF_PIP = """\
Collecting pyspark
  Downloading pyspark-4.3.0.tar.gz (434.3 MB)
  Preparing metadata (setup.py): finished with status 'done'
Collecting py4j<0.11
  Downloading py4j-0.10.9.9-py2.py3-none-any.whl (203 kB)
Collecting pyarrow
  Using cached pyarrow-22.0.0-cp311-cp311-manylinux_2_28_x86_64.whl (47.7 MB)
Collecting urllib3
  Downloading urllib3-2.7.0-py3-none-any.whl (1.3 MB)
Installing collected packages: py4j, urllib3, pyspark, pyarrow
"""


def test_large_files_are_named_and_packages_are_counted() -> None:
    script = f'say() {{ echo "$*"; }}; eval "$(sed -n \'/^progress()/,/^}}/p\' {SETUP})"; progress'
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        input=OF_PIP,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert ran.stdout.splitlines() == [
        "package 1: Downloading pyspark-4.3.0.tar.gz (434.3 MB)",
        "package 3: Using cached pyarrow-22.0.0-cp311-cp311-manylinux_2_28_x86_64.whl (47.7 MB)",
        "installing 4 packages",
    ]

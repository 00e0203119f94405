"""What is uploaded and installed: each file once, and nothing but the package and ``pyspark_headwater``."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import headwater
from release_files import bill_of_materials, repacked
from tests.installing import Distributions

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = {
    str(file.relative_to(ROOT))
    for file in (ROOT / "headwater").rglob("*")
    if file.suffix in {".py", ".pyi"} or file.name == "py.typed" or file.parent.name == "page"
}


def test_the_wheel_holds_the_package_and_nothing_else(distributions: Distributions) -> None:
    names = zipfile.ZipFile(distributions.wheel).namelist()
    script = f"headwater-{headwater.__version__}.data/scripts/headwater-python"
    ours = [name for name in names if ".dist-info/" not in name]
    assert sorted(ours) == sorted({*PACKAGE, "pyspark_headwater.py", script})
    assert "headwater/py.typed" in ours


def test_the_wheel_names_its_version_license_links_and_extras(distributions: Distributions) -> None:
    wheel = zipfile.ZipFile(distributions.wheel)
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = wheel.read(name).decode()
    assert f"\nVersion: {headwater.__version__}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    urls = re.findall(r"^Project-URL: .*$", metadata, re.MULTILINE)
    assert not any(".example" in url for url in urls), "no placeholders"
    assert set(re.findall(r"^Provides-Extra: (.*)$", metadata, re.MULTILINE)) == {
        "adls",
        "async",
        "avro",
        "board",
        "carry-over",
        "eventhubs",
        "event-time",
        "kafka",
        "mqtt",
        "nats",
        "kinesis",
        "rabbitmq",
        "redis",
        "formats",
        "gcs",
        "glue",
        "http",
        "msk",
        "otel",
        "postgres",
        "prometheus",
        "s3",
        "sftp",
        "test",
    }


def test_the_source_distribution_holds_each_file_once(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        files = [member.name.partition("/")[2] for member in archive if not member.isdir()]
        assert not [member.name for member in archive if member.issym()]
    package = [file for file in files if file.endswith((".py", ".pyi", "py.typed")) or "/page/" in file]
    assert sorted(package) == sorted({*PACKAGE, "pyspark_headwater.py", "setup.py"})
    assert len(files) == len(set(files))
    assert {"LICENSE", "README.md", "pyproject.toml", "scripts/headwater-python"} <= set(files)


def test_the_links_at_the_top_of_the_repository_are_relative_and_lead_into_the_package() -> None:
    seen = (file for file in ROOT.iterdir() if file.is_symlink() and not file.name.startswith("."))
    links = {file.name: str(file.readlink()) for file in seen}
    assert links == {name: f"headwater/{name}" for name in ("connector", "enumerators", "readers")}


def test_an_old_python_is_refused_before_any_library_is_looked_for() -> None:
    code = "import sys; sys.version_info = (3, 10); exec(open('setup.py').read())"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, "headwater needs Python 3.11 or newer; this is 3.10\n")


def test_a_source_distribution_is_the_same_bytes_whenever_and_by_whom_it_was_packed(
    distributions: Distributions,
) -> None:
    packed = distributions.sdist.read_bytes()
    again = io.BytesIO()
    with (
        # Not compressed: in another order, each file would be looked for from the beginning.
        tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as source,
        tarfile.open(fileobj=again, mode="w:gz") as target,
    ):
        for member in reversed(source.getmembers()):
            content = source.extractfile(member) if member.isfile() else None
            member.mtime += 86_400
            member.uname, member.uid, member.mode = "somebody", 1234, member.mode | 0o020
            target.addfile(member, content)
    once, twice = (repacked(each, 1_700_000_000) for each in (packed, again.getvalue()))
    assert once == twice
    with tarfile.open(fileobj=io.BytesIO(once)) as archive, tarfile.open(distributions.sdist) as source:
        assert sorted(archive.getnames()) == sorted(source.getnames())
        name = next(name for name in archive.getnames() if name.endswith("scripts/headwater-python"))
        script = archive.getmember(name)
        assert (script.mtime, script.mode, script.uname) == (1_700_000_000, 0o755, "")


def test_the_list_of_materials_names_each_library_with_version_licence_and_checksum() -> None:
    digest = "ab" * 32
    entry = {
        "metadata": {"name": "PyYAML", "version": "6.0", "license_expression": "MIT"},
        "download_info": {"archive_info": {"hashes": {"sha256": digest}}},
    }
    other = {"metadata": {"name": "abc", "version": "1"}, "download_info": {"dir_info": {}}}
    materials = bill_of_materials({"install": [entry, other]}, "2026-01-01T00:00:00Z")
    assert [each["purl"] for each in materials["components"]] == ["pkg:pypi/abc@1", "pkg:pypi/pyyaml@6.0"]
    assert materials["components"][1]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert materials["components"][1]["licenses"] == [{"license": {"name": "MIT"}}]

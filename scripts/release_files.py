"""Builds a release into a folder: the wheel, the source distribution, and the list of its libraries (SBOM).

The same commit gives the same two files: all times in them are that of the commit, and the archive of the
sources is packed anew, because setuptools writes the time of packing and the packer's name into it. The list
is CycloneDX 1.5, as JSON: every library that pip would install today with all extras for users, with version,
licence and checksum.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any, Final

__all__ = ["bill_of_materials", "main", "repacked"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_BUILD: Final = """
import sys
from setuptools.build_meta import build_sdist, build_wheel
folder = sys.argv[1]  # setuptools changes sys.argv
build_sdist(folder)
build_wheel(folder)
"""
_OWNER: Final = 0


def repacked(archive: bytes, time_s: int) -> bytes:
    """Return a source distribution with one time, without owners, and with its files in order."""
    packed = io.BytesIO()
    with (
        # Not compressed: in another order, each file would be looked for from the beginning.
        tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive))) as source,
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=time_s) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            member.mtime = time_s
            member.uid = member.gid = _OWNER
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            target.addfile(member, source.extractfile(member) if member.isfile() else None)
    return packed.getvalue()


def bill_of_materials(report: dict[str, Any], time: str) -> dict[str, Any]:
    """Return the SBOM of a dry run of pip.

    Args:
        report: what ``pip install --report`` has written.
        time: of the release, as ISO 8601.
    """
    components = []
    for entry in report["install"]:
        metadata = entry["metadata"]
        archive = entry["download_info"].get("archive_info", {})
        licence = metadata.get("license_expression") or metadata.get("license", "").split("\n")[0]
        hashes = archive.get("hashes", {})
        component: dict[str, Any] = {
            "type": "library",
            "name": metadata["name"],
            "version": metadata["version"],
            "purl": f"pkg:pypi/{metadata['name'].lower()}@{metadata['version']}",
        }
        if licence:
            component["licenses"] = [{"license": {"name": licence}}]
        if "sha256" in hashes:
            component["hashes"] = [{"alg": "SHA-256", "content": hashes["sha256"]}]
        components.append(component)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": time},
        "components": sorted(components, key=lambda each: str(each["name"]).lower()),
    }


def main(folder: Path) -> None:
    """Build everything from the files that git knows."""
    time_s = int(_output("git", "log", "-1", "--format=%ct"))
    time = _output("git", "log", "-1", "--format=%cI").strip()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        project = Path(work) / "project"
        project.mkdir()
        with tarfile.open(fileobj=io.BytesIO(_bytes("git", "archive", "HEAD"))) as committed:
            committed.extractall(project, filter="fully_trusted")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(time_s), "PYTHONHASHSEED": "0"}
        subprocess.run(
            [sys.executable, "-c", _BUILD, str(folder.resolve())], cwd=project, env=environment, check=True
        )
    for archive in folder.glob("headwater-*.tar.gz"):
        archive.write_bytes(repacked(archive.read_bytes(), time_s))
    wheel = next(folder.glob("headwater-*.whl"))
    extras = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = f"{wheel}[{','.join(sorted(extras.keys() - {'test'}))}]"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed")
    report = json.loads(_output(*pip, "--report", "-", wanted))
    materials = json.dumps(bill_of_materials(report, time), indent=1, sort_keys=True)
    (folder / "sbom.json").write_text(materials + "\n")


def _output(*command: str) -> str:
    return _bytes(*command).decode()


def _bytes(*command: str) -> bytes:
    return subprocess.run(command, cwd=_ROOT, check=True, capture_output=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else _ROOT / "dist"))

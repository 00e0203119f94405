"""A newer release of RabbitMQ than the host's, as a newer Debian has it, unpacked beside the tests.

python scripts/newer_rabbitmq.py     # fetches it once: 60 MB
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

__all__ = ["environment", "fetch", "programs"]

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "rabbitmq"
ROOT = FOLDER / "root"
ERLANG = ROOT / "usr/lib/erlang"
SUITE = "trixie"
"""It has RabbitMQ 4.0."""
MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
ELF = b"\x7fELF"


def programs() -> Path | None:
    """Return the folder of its programs; None if it was not fetched, or for another place than this one."""
    ready = FOLDER / "ready"
    is_here = ready.exists() and ready.read_text() == str(ROOT)
    return ROOT / "usr/lib/rabbitmq/bin" if is_here else None


def environment() -> dict[str, str]:
    """Return what its programs need: the Erlang that comes with it."""
    return {"PATH": f"{ERLANG}/bin:/usr/bin:/bin:/usr/sbin:/sbin"}


def fetch() -> None:
    """Fetch it with apt, which checks signatures, into folders of its own. The host stays as it is.

    Raises:
        RuntimeError: apt or its keys are not there.
    """
    if programs() is not None:
        return
    if shutil.which("apt-get") is None or not Path(KEYS).exists():
        raise RuntimeError(f"fetching a newer RabbitMQ takes apt-get and {KEYS}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial"):
        (FOLDER / folder).mkdir(parents=True)
    (FOLDER / "sources").write_text(f"deb [signed-by={KEYS}] {MIRROR} {SUITE} main\n")
    (FOLDER / "status").touch()
    _apt("update")
    _apt("install", "--yes", "--no-install-recommends", "--download-only", "rabbitmq-server")
    for package in (FOLDER / "cache/archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, ROOT], check=True)
    for program in (*ERLANG.glob("erts-*/bin/*"), *ERLANG.glob("lib/*/priv/bin/*")):
        _wrap(program)
    script = ERLANG / "bin/erl"
    script.write_text(script.read_text().replace("/usr/lib/erlang", str(ERLANG)))
    shutil.rmtree(FOLDER / "cache")
    shutil.rmtree(FOLDER / "lists")
    # Its programs name this place.
    (FOLDER / "ready").write_text(str(ROOT))


def _apt(*arguments: str) -> None:
    settings = {
        "Dir::Etc::sourcelist": FOLDER / "sources",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": FOLDER / "lists",
        "Dir::State::status": FOLDER / "status",  # so all that it needs comes along
        "Dir::Cache": FOLDER / "cache",
    }
    given = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    done = subprocess.run(
        ["apt-get", "-qq", *given, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"apt-get {arguments[0]}: {done.stdout}{done.stderr}")


def _wrap(program: Path) -> None:
    """Let a program use the libraries that came with it, which may be newer than the host's."""
    with program.open("rb") as file:
        if file.read(4) != ELF:
            return
    (libraries,) = (ROOT / "usr/lib").glob("*-linux-gnu")
    (loader,) = libraries.glob("ld-linux*.so.*")
    real = program.rename(program.with_name(f"{program.name}.real"))
    command = shlex.join(map(str, (loader, "--library-path", libraries, real)))
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)


if __name__ == "__main__":
    fetch()

"""Where answers are stored: a file for each module of tests and each version of Spark."""

from __future__ import annotations

import fcntl
import json
import lzma
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["ANSWERS", "AnswerFile", "modules"]

ANSWERS = Path(__file__).parents[1] / "answers"
"""The folder with a folder for each version of Spark."""
_SUFFIX = ".jsonl.xz"

Stored = dict[str, dict[str, Any]]
"""By the name of a test, and the digest of a question: the answer, as JSON."""


def modules(version: str) -> list[str]:
    """Return the modules whose answers are stored, as `AnswerFile` takes them."""
    names = [path.name.removesuffix(_SUFFIX) for path in (ANSWERS / version).glob(f"*{_SUFFIX}")]
    return sorted(name.replace(".", "/") + ".py" for name in names)


class AnswerFile:
    """The answers to the tests of a module. Compressed JSON, a line an answer: test, digest, answer.

    Args:
        version: of Spark.
        module: path of the tests, from the folder of all tests, such as ``parity/files/test_csv.py``.
    """

    def __init__(self, version: str, module: str) -> None:
        self.path = ANSWERS / version / (module.removesuffix(".py").replace("/", ".") + _SUFFIX)

    def read(self) -> Stored:
        """Return all answers; none if there is no such file."""
        if not self.path.exists():
            return {}
        found: Stored = {}
        for line in lzma.decompress(self.path.read_bytes()).decode().splitlines():
            test, digest, answer = json.loads(line)
            found.setdefault(test, {})[digest] = answer
        return found

    def tests(self) -> set[str]:
        """Return the names of the tests that have answers. It decodes nothing else: answers are large."""
        if not self.path.exists():
            return set()
        lines = lzma.decompress(self.path.read_bytes()).decode().splitlines()
        return {json.JSONDecoder().raw_decode(line, 1)[0] for line in lines}

    def replace(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Store the answers to tests in place of those that they have. Processes may do so at once."""
        with self._locked():
            stored = self.read()
            stored.update({test: dict(of_one) for test, of_one in answers.items()})
            self._write(stored)

    def keep(self, tests: set[str]) -> None:
        """Remove the answers to all other tests."""
        with self._locked():
            stored = self.read()
            if not stored.keys() <= tests:
                self._write({test: answers for test, answers in stored.items() if test in tests})

    def _write(self, stored: Stored) -> None:
        lines = [
            json.dumps([test, digest, stored[test][digest]], separators=(",", ":"))
            for test in sorted(stored)
            for digest in sorted(stored[test])
        ]
        data = lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9)
        self.path.write_bytes(data)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (self.path.parent / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

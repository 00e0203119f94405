"""A server of the tests leaves no process behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from local_server import LocalServer


class Sleeper(LocalServer):
    """Waits for a signal; asking whether it answers is an error."""

    started: subprocess.Popen[bytes] | None = None

    def _command(self) -> Sequence[str]:
        return [sys.executable, "-c", "import signal; signal.pause()"]

    def _answers(self) -> bool:
        self.started = self._process
        raise ValueError("no answer that is known")


def test_a_server_whose_answer_is_an_error_is_ended() -> None:
    server = Sleeper("sleeper")
    with pytest.raises(ValueError, match="no answer that is known"), server:
        pass
    assert server.started is not None
    assert server.started.poll() is not None

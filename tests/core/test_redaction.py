"""No log line and no error shows the user information of a URL, or a secret that this process has used."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headwater
from headwater.core import redaction
from headwater.core.errors import SourceError
from headwater.core.redaction import keep_secret, logger_of, redacted
from headwater.core.source import Boundedness
from headwater.testing import MicroBatchEngine
from headwater.testing.making import configured
from tests.readers.http.scripted import scripted_server

SCHEMES = ("http", "https", "s3", "redis", "kafka+ssl", "postgresql", "HTTP")
users = st.from_regex(r"[A-Za-z0-9._~!$&()*+,;=%-]{6,20}", fullmatch=True)
"""As RFC 3986 lets them be; long enough not to stand in a message by chance."""


class Records(logging.Handler):
    """Keeps what handlers see."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.shown: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.shown += [self.format(record), record.getMessage(), str(record.args), str(record.exc_text)]


@pytest.fixture
def records() -> Any:
    handler = Records()
    logger = logging.getLogger("headwater")
    logger.addHandler(handler)
    yield handler.shown
    logger.removeHandler(handler)


def everything_logged(url: str) -> list[str]:
    """Log a URL in each way in which a line may hold it, and return what handlers see."""
    handler = Records()
    logger = logger_of("headwater.tests.redaction")
    logger.addHandler(handler)
    try:
        logger.warning("of %s, and of %r", url, {"url": url, "urls": [url]})
        logger.warning(" ".join(["reads", f"{url}/path?q=1"]))
        failure = ConnectionError(f"cannot reach {url}")
        try:
            raise failure
        except ConnectionError as error:
            logger.warning("failed: %s", error, exc_info=True)
            logger.warning("%s", SourceError("broken", source="http", split=url))
    finally:
        logger.removeHandler(handler)
    return handler.shown


@given(st.sampled_from(SCHEMES), users, users, st.booleans())
def test_no_log_line_shows_the_user_information_of_a_url(
    scheme: str, user: str, password: str, is_alone: bool
) -> None:
    url = f"{scheme}://{user}{'' if is_alone else f':{password}'}@host.example:8080"
    shown = everything_logged(url)
    assert all(user not in line and (is_alone or password not in line) for line in shown)
    assert sum("://host.example:8080" in line for line in shown) >= 4, "what is no secret is there"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=8))
def test_no_log_line_and_no_error_shows_a_secret_that_was_used(secret: str) -> None:
    keep_secret(secret)
    try:
        shown = everything_logged(f"http://host/?key={secret}&")
        assert all(f"key={secret}&" not in line for line in shown)
        assert f": {secret}." not in str(SourceError(f"refused: {secret}."))
    finally:
        redaction._SECRETS._texts = ()


def test_a_secret_is_left_out_as_it_stands_in_a_url_too_and_a_part_of_another_one_shows_nothing_of_it() -> (
    None
):
    keep_secret("s3cr", "s3cret/word", "abc")
    assert redacted("s3cret/word s3cret%2Fword s3cr abc") == "*** *** *** abc"


def test_a_value_without_a_text_is_left_out_of_its_line_and_is_no_error_of_the_caller(
    records: list[str],
) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise TypeError("no text")

    logger_of("headwater.tests.redaction").warning("failed: %s", MuteError())
    assert records[0] == "failed: %s (without its values: TypeError)"


def test_each_module_that_logs_has_a_logger_that_redacts() -> None:
    root = Path(headwater.__file__).parent
    assert [path for path in root.rglob("*.py") if "logging.getLogger(__name__)" in path.read_text()] == []


def test_a_source_logs_no_secret_of_its_options_though_the_outside_repeats_it(
    records: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_PASSWORD", "s3cret-word")
    options = {"badPages": "skip", "pollInterval": "1h", "stateLocation": str(tmp_path)}
    with scripted_server() as server:
        server.say("/a", {"items": [1], "next": "/b"})
        server.say("/b", b"<html>you said s3cret-word, ask http://annabel:s3cret@other.example/")
        options |= {"url": f"{server.origin}/a", "username": "ann", "password": "env:API_PASSWORD"}
        MicroBatchEngine(lambda: configured("http", options, Boundedness.CONTINUOUS_UNBOUNDED)).run()
    assert any("/b" in line for line in records)
    assert not any("annabel" in line or "s3cret" in line for line in records)

"""The page in a real browser: Debian's chromium, which scripts/setup installs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headwater.tools.monitoring.board_server import BoardServer
from headwater.tools.monitoring.board_view import board_view
from headwater.tools.monitoring.query_history import QueryHistories
from tests.patience import PATIENCE_S
from tests.tools.monitoring.progress_reports import (
    START_MS,
    ScriptedQuery,
    barrier_offset,
    reported,
    sink,
    watched,
)

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

CHROMIUM = shutil.which("chromium")
CHROMEDRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and CHROMEDRIVER), reason="no chromium and chromedriver here: scripts/setup installs them"
)


class Page:
    """The board as a person sees it."""

    def __init__(self, browser: Chrome) -> None:
        self._browser = browser

    def open(self, server: BoardServer) -> None:
        self._browser.get(server.url)
        self.until(lambda: "live" in self.text("#heard"))

    def all(self, selector: str) -> list[WebElement]:
        return [each for each in self._browser.find_elements("css selector", selector) if each.is_displayed()]

    def text(self, selector: str) -> str:
        return " ".join(self.texts(selector))

    def texts(self, selector: str) -> list[str]:
        found = "[...document.querySelectorAll(arguments[0])]"
        script = f"return {found}.filter(each => each.offsetParent).map(each => each.innerText)"
        return list(self._browser.execute_script(script, selector))

    def run(self, script: str) -> Any:
        return self._browser.execute_script(f"return {script}")

    def press(self, keys: str) -> None:
        self._browser.switch_to.active_element.send_keys(keys)

    def resize(self, width: int, height: int) -> None:
        # As on a phone: a window of the desktop has a least width.
        self._browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640},
        )

    def prefer(self, scheme: str) -> None:
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self._browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})

    def until(self, holds: Callable[[], object]) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self._browser, PATIENCE_S, poll_frequency=0.05).until(lambda _: holds())

    def complaints(self) -> list[Any]:
        """Return what the browser's console holds: scripts that fail, policies that are broken."""
        return list(self._browser.get_log("browser"))  # type: ignore[no-untyped-call, unused-ignore]


def is_of_a_closed_server(complaint: Any) -> bool:
    said = complaint["message"]
    # A server that answers with a status of failure is told otherwise.
    return complaint["source"] == "network" and said.startswith("http://127.0.0.1:") and "net::ERR_" in said


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    assert CHROMIUM
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = Chrome(options=options, service=Service(CHROMEDRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Chrome) -> Iterator[Page]:
    shown = Page(browser)
    shown.resize(1200, 900)
    yield shown
    # The test has closed its server already: it may have cut an answer short, or refused a request.
    assert [said for said in shown.complaints() if not is_of_a_closed_server(said)] == []
    browser.get("about:blank")


@contextmanager
def serving(histories: QueryHistories, **calls: dict[str, float]) -> Iterator[BoardServer]:
    server = BoardServer(
        lambda request: board_view(histories, request, calls, START_MS),
        host="127.0.0.1",
        port=0,
        token="a-token",
    )
    try:
        yield server
    finally:
        server.close()


def test_a_query_shows_its_splits_and_moves_while_it_is_watched(page: Page) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=4)
    query.start()
    query.report(rows_a_split=100, behind=10)
    query.report(rows_a_split=100, behind=10)
    with serving(histories, look_up={"requests": 12, "in_flight": 3}) as server:
        page.open(server)
        assert page.texts("#splits td.split") == ["orders-3", "orders-2", "orders-1", "orders-0"]
        assert page.texts("#splits .measure:has(.lag) b") == ["30", "20", "10", "0"]
        assert page.text(".query .told") == "batch 1 · 400/s · lag 60"
        assert page.text("#calls tbody") == "look_up\t12\t3"
        assert "800 rows seen" in page.text("#tiles"), "what nobody has told, such as bytes, is no 0"
        assert "token" not in page.run("location.href"), "it does not stay in the browser's history"
        query.report(rows_a_split=200, behind=0)
        page.until(lambda: page.text(".query .told") == "batch 2 · 800/s · lag 0")


def test_metrics_of_the_sources_are_shown_in_their_units_with_what_they_mean(page: Page) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=1)
    query.start()
    query.report(
        metrics={"numBytesIn": 2_500_000, "sourceIdleTime": 1_500, "isProcessingBacklog": 1, "skipped": 12}
    )
    with serving(histories) as server:
        page.open(server)
        shown = dict(zip(page.texts("#metrics dt"), page.texts("#metrics dd"), strict=True))
        assert shown == {
            "numBytesIn": "2.5 MB",
            "isProcessingBacklog": "yes",
            "sourceIdleTime": "1.5 s",
            "skipped": "12",
        }
        assert page.text("#flow") == "reads kafka orders, writes to FooTable"
        assert "a part of what was there" in page.run("document.querySelectorAll('#metrics div')[1].title")
        assert "100 rows, 2.5 MB seen" in page.text("#tiles")


def test_rows_that_went_on_stand_beside_those_that_came_in_where_the_sink_tells_it(page: Page) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=4)
    query.start()
    query.report(sink=sink(400))
    query.report(sink=sink(250))
    with serving(histories) as server:
        page.open(server)
        tiles = dict(zip(page.texts("#tiles dt"), page.texts("#tiles dd"), strict=True))
        assert tiles["rate"].startswith("400/s")
        assert tiles["written"] == "250/s\n250 rows of 400 read, in the last batch"
        query.report()
        page.until(lambda: "written" not in page.texts("#tiles dt"))


def test_a_snapshot_has_a_bar_until_it_is_read_and_bytes_and_ages_have_their_units(page: Page) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=2)
    query.start()
    for finished in (0, 8, 16):
        query.report(
            behind=1_500_000,
            unit="bytes",
            metrics={
                "numSnapshotSplitsFinished": finished,
                "numSnapshotSplitsRemaining": 64 - finished,
                "numSnapshotRows": finished * 250_000,
                "retainedBytes": 70_000_000,
                "lagTime": 4_200,
            },
        )
    with serving(histories) as server:
        page.open(server)
        assert page.text(".query .told") == "batch 2 · 200/s · lag 1.5 MB · snapshot 25 %"
        assert page.run("[snapshot.value, snapshot.max, snapshot.matches(':indeterminate')]") == [
            16,
            64,
            False,
        ]
        told = "25 %: 16 of about 64 splits read and committed, 4M rows; the rest in about 6.0 s"
        assert page.text("#snapshot-told") == told
        tiles = dict(zip(page.texts("#tiles dt"), page.texts("#tiles dd"), strict=True))
        assert tiles["lag"].startswith("1.5 MB")
        assert tiles["oldest unread"].startswith("4.2 s")
        assert "comes in" not in tiles, "rows and bytes do not add up"
        assert page.texts("#splits .measure:has(.lag) b") == ["1.5 MB", "0 bytes"]
        shown = dict(zip(page.texts("#metrics dt"), page.texts("#metrics dd"), strict=True))
        assert shown["retainedBytes"] == "70 MB"
        query.report(metrics={"numSnapshotSplitsFinished": 64, "numSnapshotSplitsRemaining": 0})
        page.until(lambda: not page.all("#snapshot-section"))


def test_event_time_of_each_split_and_who_holds_back_the_others(page: Page) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=2)
    query.start()
    query.report(rows_a_split=1_234_567, fronts_ms={"0": START_MS, "1": START_MS - 90_000})
    with serving(histories) as server:
        page.open(server)
        assert "90.0 s\nheld back by orders-1" in page.text("#tiles")
        assert page.texts("#splits td.position") == ["1,234,567", "1,234,567"]
        assert page.texts("#splits tbody td:nth-child(4)") == ["2026-11-18 11:05:10", "2026-11-18 11:06:40"]


def test_in_barrier_mode_too_event_time_is_shown_of_splits_that_wait_and_of_whom_they_wait_for(
    page: Page,
) -> None:
    histories, watcher = watched()
    ScriptedQuery(watcher, "orders", splits=0).start()
    both = {"old": START_MS - 90_000, "young": START_MS}
    # Only the list that is behind is read in this epoch.
    read = {"places": [[["old"]]], "starts": {"old": {"page": 2}, "young": {"page": 9}}, "fronts": both}
    for fronts, holds_back in ((both, "90.0 s\nheld back by old"), ({**both, "new": None}, "by new")):
        source = SimpleNamespace(
            startOffset=None, endOffset=barrier_offset(**read), latestOffset=barrier_offset(fronts_ms=fronts)
        )
        watcher.onQueryProgress(reported(id="id-of-orders", runId="run-1", sources=[source]))
        with serving(histories) as server:
            page.open(server)
            assert holds_back in page.text("#tiles")
            assert page.texts("#splits td.split") == ["old", "young"]
            assert page.texts("#splits td.position") == ['{"page": 2}', '{"page": 9}']
            assert page.texts("#splits tbody td:nth-child(4)") == [
                "2026-11-18 11:05:10",
                "2026-11-18 11:06:40",
            ]


def test_a_query_that_fails_and_one_that_restarts_are_seen(page: Page) -> None:
    histories, watcher = watched()
    failing = ScriptedQuery(watcher, "<b>payments</b>", splits=2)
    failing.start()
    failing.report()
    with serving(histories) as server:
        page.open(server)
        failing.end("  headwater: source kafka, split orders-1: <script>the topic is gone</script>")
        page.until(lambda: page.texts(".badge") == ["failed"])
        assert page.text("#message") == "source kafka, split orders-1: <script>the topic is gone</script>"
        assert page.text(".query .name") == "<b>payments</b>", "names are texts, never HTML"
        assert "the topic is gone" in page.text("#failures li")
        failing.start()
        failing.report()
        page.until(lambda: page.texts(".badge") == ["running"])
        assert "started 2 times" in page.text(".query .told")
        assert page.texts("#message") == [], "what is over stays among the last errors only"
        assert page.all("#failures li")


@pytest.mark.parametrize("splits", [200, 2_000])
def test_many_splits_are_shown_a_page_at_a_time_and_found_by_name(page: Page, splits: int) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=splits)
    query.start()
    for _ in range(60):
        query.report(behind=1)
    with serving(histories) as server:
        page.open(server)
        assert len(page.texts("#splits tbody tr")) == 50
        assert page.text("#range") == f"1 to 50 of {splits:,}"
        page.all("#next")[0].click()
        page.until(lambda: page.text("#range") == f"51 to 100 of {splits:,}")
        page.run("document.body.focus()")
        page.press("/")
        page.press("orders-19")
        found = 11 if splits == 200 else 111
        page.until(lambda: page.text("#range") == f"1 to {min(50, found)} of {found}")
        assert all("orders-19" in name for name in page.texts("#splits td.split"))


def test_it_is_used_with_the_keyboard_alone(page: Page) -> None:
    histories, watcher = watched()
    for name in ("clicks", "orders"):
        query = ScriptedQuery(watcher, name, splits=2)
        query.start()
        query.report()
    with serving(histories) as server:
        page.open(server)
        assert page.text("#details-title") == "clicks"
        page.press("\ue015")  # arrow down
        page.until(lambda: page.text("#details-title") == "orders")
        assert page.run("document.activeElement.innerText").startswith("orders"), "the focus goes with it"
        page.press("\ue013")  # arrow up
        page.until(lambda: page.text("#details-title") == "clicks")
        before = page.run("document.documentElement.dataset.theme")
        page.press("t")
        page.until(lambda: page.run("document.documentElement.dataset.theme") != before)


def test_it_is_light_or_dark_as_the_system_is_and_fits_a_phone(page: Page) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "a-query-with-a-name-that-is-longer-than-a-phone-is-wide", splits=4)
    query.start()
    query.report()
    with serving(histories) as server:
        page.open(server)
        page.run("setTheme('system')")
        grounds = {}
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            grounds[scheme] = page.run("getComputedStyle(document.body).backgroundColor")
        assert grounds == {"light": "rgb(246, 247, 248)", "dark": "rgb(20, 24, 28)"}
        page.resize(360, 740)
        assert page.run("document.documentElement.scrollWidth") <= 360, "nothing has to be scrolled sideways"
        assert page.text("#splits td.split").startswith("orders-3")


def test_a_driver_that_is_gone_is_said_and_what_it_showed_last_stays(page: Page) -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=1)
    query.start()
    query.report()
    with serving(histories) as server:
        page.open(server)
    page.until(lambda: "the driver does not answer; this is of 2026-11-18" in page.text("#heard"))
    assert page.texts("#splits td.split") == ["orders-0"]
    # The requests that were refused, and nothing else.
    assert {entry["source"] for entry in page.complaints()} == {"network"}


def test_without_a_query_it_says_so(page: Page) -> None:
    histories, _ = watched()
    with serving(histories) as server:
        page.open(server)
        assert page.text("#no-queries").startswith("No query has reported yet.")

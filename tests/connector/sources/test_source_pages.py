"""The pages of sources show the options as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.connector.options import OptionTable
from headwater.connector.sources.demo import DEMO_OPTIONS
from headwater.connector.sources.http.options import HTTP_OPTIONS
from headwater.connector.sources.hybrid.options import HYBRID_OPTIONS
from headwater.connector.sources.mqtt.options import MQTT_OPTIONS

PAGES = [
    ("demo.md", DEMO_OPTIONS),
    ("http.md", HTTP_OPTIONS),
    ("hybrid.md", HYBRID_OPTIONS),
    ("mqtt.md", MQTT_OPTIONS),
]
DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize(("page", "options"), PAGES)
def test_the_table_of_options_is_the_one_of_the_source(page: str, options: OptionTable) -> None:
    text = (DOCS / page).read_text()
    assert text.endswith(f"## Options\n\n{options.markdown()}\n"), (
        f"put this table at the end of docs/{page}:\n{options.markdown()}"
    )

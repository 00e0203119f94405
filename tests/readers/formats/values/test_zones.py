"""Zones that values name: each is computed once, whatever else values name."""

from __future__ import annotations

from headwater.readers.formats.values import zones


def test_names_that_are_no_zones_do_not_push_out_those_that_are() -> None:
    assert zones.offsets_of("Europe/Paris") is not None
    computed = zones._of_region.cache_info().misses
    assert not any(zones.offsets_of(f"Europe/Paris{i}") for i in range(500))
    assert all(zones.offsets_of(f"+{i % 18:02}:{i % 60:02}") for i in range(500))
    zones.offsets_of("Europe/Paris")
    assert zones._of_region.cache_info().misses == computed

"""The messages about mistakes in options (`headwater.connector.options.OptionTable`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.connector.options import OptionTable
from headwater.core.errors import OptionError, StateLocationError
from headwater.core.source import Boundedness
from headwater.testing.contracts import keeps
from headwater.testing.subject import Subject


class OptionTests(Subject):
    """Every mistake is refused before anything is opened, by an error that names the option."""

    def test_an_unknown_option_is_refused_with_the_nearest_name(self) -> None:
        error = self._refused({**self.options(), "paralelism": "2"})
        keeps(OptionTable.parse, "paralelism" in str(error).lower(), f"names the unknown option; {error}")
        keeps(OptionTable.parse, "parallelism" in str(error), f"names the nearest valid one; {error}")

    def test_a_malformed_value_is_refused(self) -> None:
        error = self._refused({**self.options(), "parallelism": "many"})
        keeps(
            OptionTable.parse,
            "parallelism" in str(error) and "many" in str(error),
            f"names option and value; {error}",
        )

    def test_a_missing_option_is_refused(self) -> None:
        options = {key.lower(): value for key, value in self.options().items()}
        for row in self.declared_options():
            if row.required:
                error = self._refused(
                    {key: value for key, value in options.items() if key != row.name.lower()}
                )
                keeps(
                    OptionTable.parse,
                    row.name in str(error),
                    f"names the required option {row.name}; {error}",
                )

    def test_names_of_options_have_no_case(self) -> None:
        self.configure({key.upper(): value for key, value in self.options().items()})

    def test_a_stream_in_barrier_mode_needs_a_state_location(self) -> None:
        options = self.options()
        if self.is_barrier(options) and "statelocation" not in {key.lower() for key in options}:
            error = self._refused(options, Boundedness.CONTINUOUS_UNBOUNDED)
            keeps(OptionTable.parse, "stateLocation" in str(error), f"names stateLocation; {error}")

    def _refused(self, options: Mapping[str, str], boundedness: Boundedness = Boundedness.BOUNDED) -> Any:
        try:
            self.configure(options, boundedness)
        except (OptionError, StateLocationError) as error:
            return error
        keeps(OptionTable.parse, False, f"raises an OptionError for {dict(options)}")
        return None

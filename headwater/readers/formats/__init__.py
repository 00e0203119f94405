"""Formats: what bytes of records mean as typed columns, whatever source they come from.

From the ground up: `table_layout` (memory that Python and machine code share), `column_table`, `format` (the
contract), then the formats themselves.
"""

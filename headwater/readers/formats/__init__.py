"""Formats: the bytes of records as typed columns, from any source.

From the ground up: `columns` (memory of Arrow columns that Python and machine code share), `values` (text as
numbers, dates and times), `format` (the contract), then the formats themselves. Each has its compiled code in
a package ``kernel``.
"""

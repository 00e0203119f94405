"""Compiled functions of PostgreSQL's formats.

* `binary_values`: reads the values of a column in PostgreSQL's binary form;
* `copy_framing`: cuts the answer to COPY BINARY into rows and values.
"""

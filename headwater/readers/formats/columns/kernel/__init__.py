"""Compiled functions that fill columns.

* `nodes`: nodes of columns, for all kernels: appends values and nulls, takes entries back, asks for room;
* `text`: text and bytes in columns, for kernels: appended, or written as the current entry.
"""

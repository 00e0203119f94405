"""Compiled functions that fill columns.

* `nodes`: nodes of columns, for all kernels: appends values and nulls, takes entries back;
* `room`: room in nodes, for all kernels: a buffer that is full goes on in larger memory of its own;
* `text`: text and bytes in columns, for kernels: appended, or written as the current entry.
"""

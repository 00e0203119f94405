"""Python records as Arrow columns: results of functions, and pages of sources.

* ``columns``: records as columns of a schema, by place or by name.
* ``members``: the members of a record, and of structs in it.
* ``checks``: a value has its column's type, or one that Arrow takes for it without loss.
"""

"""Python records as Arrow columns: what functions return, and what the pages of sources hold.

* ``columns``: records as columns of a schema, by place or by name.
* ``members``: the members of a record, and of structs in it.
* ``checks``: a value has its column's type, or one that Arrow takes for it without loss.
"""

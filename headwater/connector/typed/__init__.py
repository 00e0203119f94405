"""Typed readers, ``hw.read.kafka(...)``: the options of the built-in sources as arguments of functions.

`writing` makes the functions from the options' tables.

* `argument_kinds`: how a Python value becomes the text of an option: one function for each kind of argument.
"""

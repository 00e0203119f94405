"""Typed readers, ``hw.read.kafka(...)``: the options of the built-in sources as arguments of functions.

`writing` makes the functions from the options' tables.
"""

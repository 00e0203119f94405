"""The format CSV: records of separated values, by the rules of univocity's parser as Spark sets them.

In ``kernel``, `plain_tokens` cuts ordinary records into values many bytes at a time, and `machine` reads all
others by the transition table of their dialect (`transitions`). `cells` makes values of columns of them.
"""

"""The format CSV: records of separated values, by the rules of univocity's parser as Spark sets them.

`plain_tokens` cuts ordinary records into values many bytes at a time. `exact_tokens` reads all others, one
character after the other. `cells` makes the values of columns of them.
"""

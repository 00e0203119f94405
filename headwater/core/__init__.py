"""Floor 0: the contracts of FLIP-27 and what every floor shares.

Imports no other floor, no pyspark, no client library.
"""

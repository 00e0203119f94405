"""Floor 0: the contracts of FLIP-27 and the helpers of every floor.

Imports no other floor, no pyspark, no client library.
"""

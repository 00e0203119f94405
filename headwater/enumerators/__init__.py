"""Floor 1: which splits exist.

Imports headwater.core and the systems' own libraries, never pyspark, readers or connector.
"""

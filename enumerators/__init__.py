"""Floor 1: which splits exist. Imports headwater_core and the systems' own libraries, never pyspark, readers or connector."""

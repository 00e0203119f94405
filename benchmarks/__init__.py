"""Measurements, side by side with Spark's own Kafka source.

See README.md; ``python benchmarks/run.py`` runs them. Not part of what is installed.
"""

"""Compiled functions that fill columns."""

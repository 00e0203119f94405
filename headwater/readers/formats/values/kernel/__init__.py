"""Compiled functions that read values in text."""

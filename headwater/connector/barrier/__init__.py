"""Barrier mode on the driver.

Opens an epoch when a split is due, and settles it when its tasks have ended.
"""

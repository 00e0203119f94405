"""Asynchronous I/O (FLIP-12): ask a slow service about many rows at once.

Knows no engine; whoever feeds rows and takes results drives it.
"""

"""Threads that fetch: split fetchers, their manager (FLIP-27), and when they stop for the barrier.

Imports `partitions`, into which fetchers put what they fetched, and nothing else of
`headwater.readers.runtime`.
"""

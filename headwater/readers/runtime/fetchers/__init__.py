"""Threads that fetch: split fetchers, their manager (FLIP-27), and when they stop for the barrier.

`split_fetcher` is one thread. Its parts are `turns` (whose turn it is), `wake_ups` and `answers` (of the
reader); `trigger` is of all.

Imports `partitions`, into which fetchers put what they fetched, and nothing else of
`headwater.readers.runtime`.
"""

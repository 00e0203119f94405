"""Threads that fetch: split fetchers, their manager (FLIP-27), and when they stop for the barrier.

* `fetcher_manager`: starts, wakes up and ends the threads.
* `split_fetcher`: one thread. `turns`: which split it reads next.
* `trigger`: when the barrier is due, for all threads.
* `events`: the elements that fetchers put into their channels.

Imports `partitions`, into which fetchers put records, and nothing else of
`headwater.readers.runtime`.
"""

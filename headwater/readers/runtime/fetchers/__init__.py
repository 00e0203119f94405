"""Threads that fetch: split fetchers and their manager (FLIP-27 ``SplitFetcherManager``)."""

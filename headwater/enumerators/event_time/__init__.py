"""Event time while planning: batches of a backlog end at the same time in all splits.

Spark has one watermark for a query, which comes from the batches before the current one. So a batch may span
any time if all splits end it at the same one: the remaining records are later than those that were read.
"""

"""Event time while planning: batches of a backlog end at the same time in all splits.

Spark has one watermark for a query, and judges the rows of a batch by what it had seen before. So a batch
may span any time if all splits end it at the same one: what is left is later than all that was read.
"""

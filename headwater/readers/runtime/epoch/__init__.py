"""One epoch of barrier mode inside a task.

Barriers, alignment, the feedback loop, and the reader that joins them.
"""

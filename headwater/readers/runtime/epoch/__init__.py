"""One epoch of barrier mode inside a task: barriers, alignment, the feedback loop, and the reader that joins them."""

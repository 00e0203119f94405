"""Requests in flight as state: what a micro-batch does not finish is asked again in the next one.

In reading order:

* ``plan``: the operator put into Spark's plan, and what is refused.
* ``processor``: the operator as a stateful processor (transformWithState).
* ``event_time``: which rows may be carried over, so that none is late for it.
* ``buckets``: rows packed for the shuffle, one bucket for each task.
* ``queries``: what is known of a query when it starts: whether it ends by itself, what stands behind.
"""

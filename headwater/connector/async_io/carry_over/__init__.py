"""Requests in flight as state: rows that a micro-batch does not finish are asked again in the next one.

In reading order:

* ``plan``: the operator put into Spark's plan, and its refusals.
* ``processor``: the operator as a stateful processor (transformWithState).
* ``event_time``: which rows may be carried over, so that none is late for it.
* ``buckets``: rows packed for the shuffle, one bucket for each task.
* ``queries``: facts about a query at its start: whether it ends by itself, the plan behind the calls.
"""

"""Requests in flight as state: what a micro-batch does not finish is asked again in the next one.

In reading order:

* ``processor``: the operator as a stateful processor (transformWithState); whether a query ends by itself.
* ``buckets``: rows packed for the shuffle and for the state, one bucket for each task.
"""

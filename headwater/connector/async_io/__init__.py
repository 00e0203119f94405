"""Asynchronous I/O on DataFrames: FLIP-12's ``unorderedWait`` and ``orderedWait`` for Spark.

The operator itself is in ``headwater.readers.async_io``. In reading order:

On the driver:

* ``wait``: `unordered_wait`, `ordered_wait`, `keyed_wait`; `split_failures`.
* ``options``: their options by name.
* ``plan``: checks them all, and describes the operator for the tasks.
* ``limits``: those of an operator, divided over its tasks.
* ``pickling``: functions and settings that travel to the tasks, and their id there.
* ``schemas``: which columns go in and which come out.
* ``metrics``: the counts of all tasks.

In a task:

* ``task``: Arrow batches in, Arrow batches out.
* ``arrow_task``: the same for functions of whole Arrow batches, whose answers ``arrow_results`` takes.
* ``input_rows``: rows on their way, as Python objects and in Arrow.
* ``results``: results of functions, as Arrow columns.
* ``worker_streams``: the input, which is read beside the task, and the output to the JVM.

Over micro-batches and epochs:

* ``carried_rows``: rows that are not out, as they are stored.
* ``carry_over``: rows that a micro-batch does not finish, as Spark's state.
* ``source_calls``, ``source_options``: the function of a source in barrier mode.
* ``epoch_calls``: the calls of an epoch, kept together in event time, and the rows that it does not finish.
"""

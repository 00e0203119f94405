"""Asynchronous I/O on DataFrames: FLIP-12's ``unorderedWait`` and ``orderedWait`` for Spark.

The operator itself is in ``headwater.readers.async_io``. In reading order:

On the driver:

* ``wait``: `unordered_wait`, `ordered_wait`, `keyed_wait`; `split_failures`.
* ``options``: what they take by name.
* ``plan``: all of that checked, and what is sent to the tasks.
* ``limits``: those of an operator, divided over its tasks.
* ``pickling``: functions and settings that travel to the tasks, and their id there.
* ``schemas``: which columns go in and which come out.
* ``metrics``: what all tasks counted.

In a task:

* ``task``: Arrow batches in, Arrow batches out.
* ``arrow_task``: the same for functions of whole Arrow batches, whose answers ``arrow_results`` takes.
* ``input_rows``: rows on their way, as Python objects and in Arrow.
* ``results``: what a function returned, as Arrow columns.
* ``worker_streams``: the input, which is read beside the task, and the output to the JVM.

Over micro-batches and epochs:

* ``carried_rows``: rows that are not out, as they are stored.
* ``carry_over``: what a micro-batch does not finish, as Spark's state.
* ``source_calls``, ``source_options``: the function of a source in barrier mode.
* ``epoch_calls``: the calls of an epoch, kept together in event time; those that it does not finish.
"""

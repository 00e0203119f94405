"""Asynchronous I/O on DataFrames: FLIP-12's ``unorderedWait`` and ``orderedWait`` for Spark.

The operator itself is in ``headwater.readers.async_io``. In reading order:

On the driver:

* ``wait``: `unordered_wait`, `ordered_wait`, `keyed_wait`.
* ``options``: what they take by name.
* ``plan``: all of that checked, and what is sent to the tasks.
* ``limits``: those of an operator, divided over its tasks.
* ``pickling``, ``derived_id``: what travels to the tasks, and what names it there.
* ``schemas``: which columns go in and which come out.
* ``metrics``: what all tasks counted.
* ``failures``: `split_failures`.

In a task:

* ``task``: Arrow batches in, Arrow batches out.
* ``arrow_task``: the same for functions of whole Arrow batches, which ``gathering`` makes, and whose answers
  ``arrow_results`` takes.
* ``input_thread``: waits for the input beside the task.
* ``input_rows``: rows on their way, as Python objects and in Arrow.
* ``results``: what a function returned, as Arrow columns.
* ``result_values``: which values have their column's type; ``result_members``: those of structs.
* ``batches``: Arrow batches that are not too large.
* ``output_stream``: the way from the task to the JVM.

Over micro-batches and epochs:

* ``carried_rows``: rows that are not out, as they are stored.
* ``carry_over``: what a micro-batch does not finish, as Spark's state.
* ``source_calls``, ``source_options``: the function of a source in barrier mode.
* ``epoch_calls``: what an epoch does not finish; ``event_time_segments`` keeps it together in event time.
"""

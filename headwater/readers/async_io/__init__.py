"""Asynchronous I/O (FLIP-12): asks a slow service about many rows at once.

Knows no engine: a driver feeds rows and takes results, on one thread, the *task's*. Calls run on one event
loop of the process, on the *loop's* thread. In reading order:

What a user writes and gets:

* ``function``: `AsyncFunction` and its other forms.
* ``settings``: order, capacity, timeout, retries, failures, limits, cache.
* ``shared_cache``: the contract of a cache outside the process.
* ``metrics``: what is counted.

The operator, on the task's thread:

* ``async_wait_operator``: Flink's ``AsyncWaitOperator``; feed, poll, drain, process, snapshot, restore.
* ``intake``: rows on their way into the queue; gathers bulk calls.
* ``stream_element_queue``: what went in and has not come out, ordered or unordered; watermarks; outputs.
* ``completions``: results on their way from the loop's thread to the task's.
* ``watchdog``: names a function that blocks the loop.

Opening and closing:

* ``opened_calls``: a function and its calls, from opening to closing, for one task.
* ``shared_functions``: functions that all tasks of the process share; ``open_and_close`` calls their methods.
* ``event_loop``: the loop of the process, as other threads see it; its timers are right to the microsecond.
* ``thread_pool``: threads for functions that block, and for ``asyncio.to_thread``.

A call, on the loop's thread:

* ``call``: the state of one call, its failure, and the queue of calls that wait for a worker.
* ``call_runner``: from a row to its one result: attempts, timeouts, retries.
* ``batch_call_runner``: the same for bulk calls, with a result for each row.
* ``workers``: the tasks that make the calls.
* ``call_context``: a context of its own for each call.
* ``function_calls``: what the user gave as the function; all its forms as something to await.
* ``permits``: what an attempt needs to start, of the circuit breaker and the rate limiter.
* ``retry_after``: what a failure says about when to ask again.
* ``failure_policy``: whether to ask again, and what a failure leads to.
* ``deadlines``: the timeouts of all calls, and the calls that outlive theirs.
* ``result_cache``: results that the process knows already; one call for all rows with equal keys.
* ``kept``: what later tasks of a job find in the process.
"""

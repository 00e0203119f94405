"""Asynchronous I/O (FLIP-12): asks a slow service about many rows at once.

Knows no engine: a driver feeds rows and takes results, on one thread, the *task's*. Calls run on one event
loop of the process, on the *loop's* thread. In reading order:

The user's side:

* ``function``: `AsyncFunction` and its other forms.
* ``settings``: order, capacity, timeout, retries, failures, limits, cache.
* ``shared_cache``: the contract of a cache outside the process.
* ``metrics``: counts and latencies.

The operator, on the task's thread:

* ``async_wait_operator``: Flink's ``AsyncWaitOperator``; feed, poll, drain, process, snapshot, restore.
* ``intake``: rows on their way into the queue; gathers bulk calls.
* ``stream_element_queue``: rows that have not come out, ordered or unordered; watermarks; outputs.
* ``completions``: results on their way from the loop's thread to the task's.
* ``wait_policy``: how long to wait for room, for results, and for more outputs.
* ``garbage``: Python's garbage collector, rarer while rows are under way.
* ``watchdog``: names a function that blocks the loop.

Opening and closing:

* ``opened_calls``: a function and its calls, from opening to closing, for one task.
* ``shared_functions``: functions that all tasks of the process share; calls their `open` and `close`.
* ``event_loop``: the loop of the process, as other threads see it; its timers are right to the microsecond.
* ``thread_pool``: threads for functions that block, and for ``asyncio.to_thread``.

A call, on the loop's thread:

* ``call``: the state of one call, its failure, its context, and the queue of calls that wait for a worker.
* ``call_runner``: from a row to its one result: attempts, timeouts, retries.
* ``batch_call_runner``: the same for bulk calls, with a result for each row.
* ``workers``: the tasks that make the calls.
* ``function_calls``: the user's function; all its forms as something to await.
* ``permits``: the circuit breaker and the rate limiter, which let an attempt start.
* ``failure_policy``: whether and when to ask again (``Retry-After``), and the consequence of a failure.
* ``deadlines``: the timeouts of all calls, and the calls that outlive theirs.
* ``result_cache``: results that the process knows already; one call for all rows with equal keys.

* `setting_checks`: what the values of settings may be.
"""

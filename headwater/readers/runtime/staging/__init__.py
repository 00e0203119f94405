"""Sources that cannot be read again: their messages go into a segment log before they count.

Imports `partitions`, where the segment log is, and nothing else of `headwater.readers.runtime`.

* `receiver`: keeps a queue connected and stages its messages, whether a task is there or not;
* `receiver_link`: the task's end: a connection to the receiver of one split, which is started where none
  runs;
* `receiver_place`: where a receiver and the tasks of its host meet: a private folder with a socket and a
  lock;
* `receiver_process`: the receiver as a process of its own, which outlives the task that starts it and answers
  tasks;
* `receiver_task`: the work of a receiver, and the messages between it and its tasks;
* `staged_client`: the outside of a staged source: a queue that forgets acknowledged messages;
* `staged_source`: the source of queues that forget what was acknowledged, as far as it is the same for all
  of them;
* `staged_split_reader`: reads a queue through its segment log: rows that a task emits are durable, and can be
  read again;
* `stager`: takes messages out of a queue into a segment log: durable first, acknowledged then;
* `staging`: where and how a staged source keeps messages, and the keys by which a second delivery is
  recognized.
"""

"""Floor 0: the contracts of FLIP-27 and the helpers of every floor.

Imports no other floor, no pyspark, no client library.

* `abilities`: optional abilities of a simple source, beside `discover` and `read`;
* `barrier_reader`: the split reader of barrier mode, its records, and a ready-made emitter of these;
* `barrier_source`: sources whose splits end where reading them finds the end: cursors, queues, tails,
  anything pushed;
* `clock`: time as an argument: code that waits takes a clock, so that its tests need not wait;
* `decoding`: how a column of bytes in the rows that a reader makes becomes typed columns;
* `emitter`: the executor half of a source, second part: raw records to Arrow rows (FLIP-27
  ``RecordEmitter``);
* `end_condition`: the option ``stopAtRecord``: which record is the end of its split;
* `enumerator`: the driver half of a source: which splits exist (FLIP-27 ``SplitEnumerator``);
* `epoch`: the words of barrier mode. The states of tasks are stored as JSON: `headwater/core/epoch_json.py`;
* `epoch_json`: the state of a task at its barrier as JSON, as it lies in manifests; earlier versions are read
  as well;
* `errors`: every error that headwater raises, in one tree;
* `identity_cache`: one-entry cache keyed by the identity of the arguments;
* `imports`: libraries that not every installation has: loaded late, and missing ones named with their install
  line;
* `jsons`: canonical JSON: one value, one text;
* `local_files`: folders that only this user can enter, in places such as the host's for temporary files, and
  files that are whole or gone;
* `losses`: the losses of a query: records, or whole splits, that were not there when they were to be read;
* `metrics`: the metrics of sources: declared here, counted where things happen, joined on the way into a
  report;
* `object_state_store`: state stores in object stores, through their fsspec libraries: put-if-absent is a
  write with a condition;
* `options`: each is declared once, where its value is used, with name, parser, default and help;
* `outside`: calls of code that a user wrote: its errors become errors of the tree, and its JSON is checked;
* `planned_source`: sources whose splits have a known end: partitions with offsets, files, tables with keys;
* `reader`: the executor half of a source, first part: fetching raw records (FLIP-27 ``SplitReader``);
* `redaction`: what is never shown: the user information of URLs, and the secrets of this process; and logs
  without them;
* `retry`: asking again after a failure that passes: later and later, until a deadline;
* `secrets`: secrets and certificates as users write them: the text itself, or where it is;
* `simple_source`: the small form of a source: which splits there are, and how to read one. Everything else
  has a default;
* `source`: the base of the sources of both modes (FLIP-27 ``Source``);
* `split`: splits, positions and ranges;
* `state_location`: state stores by URL, on file systems whose put-if-absent is one atomic step of their own;
* `state_store`: where driver and executors meet: small objects under names, and a put that only the first
  writer wins;
* `task_notes`: task notes: what the first reading of a split found, kept in the state location; that reading
  counts;
* `varints`: numbers of seven bits a byte, the lowest ones first. Compiled code has its own, on
  addresses;
* `worker_thread`: a thread of its own for calls that may be slow, or never return.
"""

"""PostgreSQL's driver half: tables, and which parts of them a query reads.

Its connections, `settings`, `connection`, and its errors, `errors`, serve tasks too.

* `chunk_rules`: the sights of all chunks of tables, as one object in the state location;
* `chunks`: ranges of a table's key, each read once, whole, in a transaction of its own;
* `connection`: the one place that opens connections: session settings, waits, and secrets;
* `ctid_ranges`: tables as splits whose positions are blocks, and the enumerator of a batch read;
* `enumerator`: the enumerator of a stream: how far the log goes, and whether anything is in it;
* `errors`: errors of libpq and the server as errors of headwater;
* `initial`: the enumerator of a stream that begins with the rows that are there;
* `initial_questions`: the questions of that enumerator to the server, on the worker thread;
* `initial_state`: how far such a query is, as offsets have it;
* `published_tables`: the tables of a stream: whether they are still the same ones, and published;
* `publication`: a publication's part of a table, and all that stands in the way of a stream;
* `replica`: the findings that keep a table from being followed by another one, all at once;
* `replication`: one conversation with the server's sender of logical replication;
* `resync`: the enumerator of a stream that reads its table again where the slot is lost;
* `preflight`: the obstacles that keep a role from reading a table: all findings at once;
* `settings`: how a server is reached, as the user says;
* `slot`: the state of a replication slot, and whether everything after a position is there;
* `slot_questions`: the questions of a stream's enumerator to the server, on the worker thread;
* `slot_reading`: opens such conversations: checks the slot first, and waits for one that is in use;
* `slots`: all slots of a server: the WAL that each keeps, who reads it, and how one is dropped;
* `snapshot`: one snapshot for all tasks of a batch read: a process of its own holds it;
* `snapshot_holder`: that process;
* `split`: the log of a database as a split, whose positions are LSNs;
* `staged_log`: the log of a slot in the state location: the contract of its writer;
* `stream_settings`: the user's settings of a stream of changes;
* `table`: a table in the catalogue: its columns and its key;
* `table_parts`: the parts of a table that can be read by themselves, and their files;
* `timeline`: whether a server that took over has all that a query has read;
* `visibility`: the merge rule: which changes of the log the rows of a snapshot hold already.
"""

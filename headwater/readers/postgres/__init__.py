"""How tables of PostgreSQL are read: rows of COPY BINARY, and changes of pgoutput, by compiled code.

* `binary_values`: columns of Arrow of values in PostgreSQL's binary form, and the error of one that has no
  place;
* `change_rows`: the rows of a stream of changes: their schema, and the rule that leaves some out;
* `chunk_reader`: chunks of a table: each read in a transaction of its own, which tells its sight;
* `copy_emitter`: rows of COPY as batches of Arrow;
* `copy_reader`: the parts of tables that a task reads, one after the other;
* `copy_stream`: the answer to one COPY: rows as places of values in the bytes that the server sent;
* `framing`: rows and where their values lie: from kernels that cut bytes to kernels that read values;
* `json_emitter`: messages of the log to rows of several tables;
* `json_rows`: the rows of several tables: each as JSON, with the texts that the server sends;
* `kernel`: compiled functions: they cut COPY BINARY and pgoutput into values, and read values of columns;
* `layout`: numbers that kernels and Python share: kinds of values, reasons to stop;
* `merge_rule`: the merge rule on columns: which changes of a batch the chunks hold already;
* `relation`: Relation messages of pgoutput: the form of a table from there on in the log;
* `snapshot_and_log`: the rows that were there and the changes after them, through one reader and one emitter;
* `staged_wal_reader`: reads a range of the log from durable segments;
* `table_form`: the form of a table in the log beside the columns of the query;
* `text_values`: columns of Arrow of values in text;
* `types`: types of PostgreSQL as types of Arrow;
* `wal_changes`: changes of tables, made of the messages of pgoutput;
* `wal_chunk`: messages of a replication stream as one piece of bytes, and how far a reader has come in them;
* `wal_emitter`: messages of the log to rows;
* `wal_layout`: numbers that the kernels of the log share with Python;
* `wal_reader`: reads a range of the log from its slot;
* `wal_receiver`: receives the messages of a slot into durable segments;
* `wal_segments`: segments of a durable log, and how one is found by its position.
"""

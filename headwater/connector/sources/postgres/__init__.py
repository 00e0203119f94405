"""The PostgreSQL source: its options, and the source that joins enumerator and reader.

* `options`: the options of the PostgreSQL source: server, table, columns, slot;
* `source`: the source itself: a table, read by COPY;
* `stream_configuration`: makes the source of a stream from the user's options;
* `stream_source`: the source of a stream: changes from a replication slot;
* `table_stream`: the source of a stream that may begin with the rows that are there;
* `tables_stream`: the source of a stream of several tables: rows and changes in one order, each as JSON.
"""

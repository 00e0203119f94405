"""The PostgreSQL source: its options, and the source that joins enumerator and reader.

* `options`: the options of the PostgreSQL source: server, table, columns;
* `source`: the source itself: a table, read by COPY.
"""

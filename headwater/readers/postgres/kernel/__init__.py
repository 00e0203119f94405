"""Compiled functions of PostgreSQL's formats.

* `binary_values`: reads the values of a column in PostgreSQL's binary form;
* `copy_framing`: cuts the answer to COPY BINARY into rows and values;
* `text_values`: reads the values of a column in text;
* `wal_entry`: the one function of the machine code for the log;
* `wal_frames`: messages of pgoutput as rows whose values lie where they came.
"""

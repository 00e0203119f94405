"""How tables of PostgreSQL are read: rows of COPY BINARY, cut and decoded by compiled code.

* `binary_values`: columns of Arrow of values in PostgreSQL's binary form, and the error of one that has no
  place;
* `copy_emitter`: rows of COPY as batches of Arrow;
* `copy_reader`: the parts of tables that a task reads, one after the other;
* `copy_stream`: the answer to one COPY: rows as places of values in the bytes that the server sent;
* `framing`: rows and where their values lie: what kernels that cut bytes give to kernels that read values;
* `kernel`: compiled functions: one cuts COPY BINARY into values, one reads the values of a column;
* `layout`: numbers that kernels and Python share: kinds of values, reasons to stop;
* `types`: types of PostgreSQL as types of Arrow, and what has no place there.
"""

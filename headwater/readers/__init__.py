"""Floor 2: how to read splits.

Imports the floors below, no pyspark; a system's own libraries only in that system's modules.

* `async_io`: asynchronous I/O (FLIP-12): asks a slow service about many rows at once;
* `compression`: decompression of blocks inside of files, and the streams below it;
* `connections`: connections of urllib3 that another thread may break off, and how they are kept: per host and
  proxy;
* `demo`: how the splits of the demo source are read: its orders are made up;
* `files`: how files are read: one module for each format, and what they share;
* `formats`: the bytes of records as typed columns, from any source;
* `http`: how the lists of a REST API are read: page by page, never faster than they may be;
* `hybrid`: a chain of sources: each part is read as it is by itself, and one column decides at the seam;
* `kafka`: Kafka's executor half: it fetches record sets, and decodes them into Arrow;
* `kernels`: compiled kernels: compiled once per host, loaded without numba, and the memory that they fill;
* `mqtt`: how messages are taken from an MQTT broker, and acknowledged;
* `postgres`: how tables of PostgreSQL are read: rows of COPY BINARY, decoded by compiled code;
* `python_values`: Python records as Arrow columns: results of functions, and pages of sources;
* `rescued`: the JSON of what a row has and its schema does not name;
* `runtime`: the loops that run a source's reader and emitter inside a task;
* `simple`: how splits of a source in the small form are read: its split reader.
"""

"""Kafka's executor half: it fetches record sets, and decodes them into Arrow.

Fetching, from the ground up: `cursor` (how far a partition has been fetched), `fetching` (requests to the
brokers of a task), `leaders`, `loss_detector` (time-outs and losses), `split_reader`.

Decoding, from the ground up: `layout` (memory that Python and machine code share), `kernel` (the compiled
code), `record_set` (headers of batches, checksums, aborted transactions), `codecs`, `chunks`,
`legacy`, `columns` (schema and arrays), `decoded_columns`, `bad_records`, `rows`, `emitter`,
`ending_emitter` (``stopAtRecord``).

* `faults`: errors for damaged bytes, and for records that Spark cannot hold;
* `schema_headers`: headers of records that name the schema of a key or value;
* `settings`: how tasks read Kafka, as the options say it.
"""

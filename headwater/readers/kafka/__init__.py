"""Kafka's executor half: it fetches record sets, and decodes them into Arrow.

Fetching, from the ground up: `broker_fetcher` (requests to one broker), `broker_fetchers` (all brokers of a
task), `leaders`, `loss_detector`, `poll_timer`, `split_reader`.

Decoding, from the ground up: `layout` (memory that Python and machine code share), `kernel` (the compiled
code), `kernel_calls`, `record_set` (headers of batches, checksums), `codecs`, `chunks`, `transactions`,
`legacy`, `arrays`, `rows`, `emitter`.
"""

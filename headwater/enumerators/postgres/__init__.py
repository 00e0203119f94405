"""PostgreSQL's driver half: what a table is, and which parts of it a query reads.

Its connections, `settings`, `connection`, and its errors, `errors`, serve tasks too.

* `connection`: the one place that opens connections: session settings, waits, and secrets;
* `ctid_ranges`: a table as a split whose positions are its blocks, and the enumerator of a batch read;
* `errors`: what libpq and the server say, as errors of headwater;
* `settings`: how a server is reached, as the user says;
* `table`: what the catalogue says of a table: columns, keys, partitions.
"""

"""PostgreSQL's driver half: what a table is, and which parts of it a query reads.

Its connections, `settings`, `connection`, and its errors, `errors`, serve tasks too.

* `connection`: the one place that opens connections: session settings, waits, and secrets;
* `ctid_ranges`: tables as splits whose positions are blocks, and the enumerator of a batch read;
* `errors`: what libpq and the server say, as errors of headwater;
* `settings`: how a server is reached, as the user says;
* `snapshot`: one snapshot for all tasks of a batch read: a process of its own holds it;
* `snapshot_holder`: that process;
* `table`: what the catalogue says of a table: its columns and its key;
* `table_parts`: the parts of a table that can be read by themselves, and their files.
"""

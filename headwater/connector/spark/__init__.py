"""Spark's side: the classes of its Python data source API, translated into calls of the coordinators.

* `batch_reader`: ``spark.read.format("headwater")``;
* `datasource`: ``format("headwater")``: Spark's view of it. Translates; decides nothing;
* `handover`: a Python process of Spark: its connection to the JVM, and the log of headwater in it;
* `lag`: how far a query is behind, and its losses;
* `lag_listener`: ``hw.LagListener``: both, of every query of a session;
* `pythons`: which Python Spark starts for a driver: the most frequent reason why a first query fails;
* `register`: ``hw.register``: formats for one session, headwater's own or a class of the user;
* `reported_offsets`: offsets as they stand in a query's progress;
* `session`: a Spark that is set up for headwater: its settings, the environment, and a session with both;
* `session_listener`: a listener of queries that does not keep a program of Spark Connect from ending;
* `stream_reader`: ``spark.readStream.format("headwater")``.
"""

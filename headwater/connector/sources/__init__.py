"""Which sources there are: a table of options, and the factory that makes a source of them, for each.

* `built_in`: headwater's own sources by name: the function that makes each, and its options;
* `configured`: a source as the options of a query make it, and how its mode runs it;
* `demo`: the demo source: orders that are made up, to try a query without any infrastructure;
* `files`: the files source: its options, and the source that joins enumerator and reader;
* `http`: the HTTP source: its options, and how it is put together;
* `full_form`: a source in the small form becomes one in the full form, in the mode of its abilities;
* `hybrid`: the hybrid source: a chain of sources in planned mode (FLIP-150);
* `kafka`: the Kafka source: its options, its columns, and the source that joins enumerator and reader;
* `mqtt`: the MQTT source: its options, and how it is put together;
* `postgres`: the PostgreSQL source: its options, and the source that joins enumerator and reader;
* `registry`: from the ``source`` option to the class that makes the source, and to its options;
* `simple`: sources in the small form as sources of the full form: one class for each mode;
* `shipped`: headwater's own sources with an enumerator of a user's before their reader;
* `source_options`: the options that sources of users have beside their own;
* `spark_schema`: Arrow schemas to Spark schemas, and the check that a source yields the schema that Spark
  plans with;
* `user_sources`: from a class that a user wrote to a source that Spark reads.
"""

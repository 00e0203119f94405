"""Keys and values that become typed columns: their options, schemas, and formats by name.

* `ddl`: schemas as users write them: Spark's DDL (``id long, tags array<string>``) or Spark's JSON;
* `debezium_formats`: Debezium's change events: their envelopes, as JSON and as Avro in Confluent's wire
  format;
* `format_request`: from the user's options about a format to the format with its schema;
* `json_schema`: JSON Schema as Spark's types: the fields of values whose schema a registry has;
* `plain_formats`: formats whose schema the user gives, as text or in a file on the driver;
* `registered_formats`: formats in the wire formats of Confluent and AWS Glue: each value names its schema in
  a registry;
* `registered_schema`: the schema of keys or values that a registry has: under which subject, asked for once
  for each frame;
* `row_decoding`: formats for the rows of any source: one column of bytes or strings becomes typed columns;
* `session_settings`: settings of the session, in a task: above all the time zone of times that are written
  without one;
* `settings`: the options about one part of a record, checked.
"""

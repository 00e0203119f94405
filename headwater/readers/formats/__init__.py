"""Formats: the bytes of records as typed columns, from any source.

From the ground up: `columns` (memory of Arrow columns that Python and machine code share), `values` (text as
numbers, dates and times), `format` (the contract), then the formats themselves. Each has its compiled code in
a package ``kernel``.

* `avro`: Avro: values of a schema, resolved from the writer's to the reader's, into columns as Spark's
  from_avro;
* `bad_records`: files of records that could not be decoded: lines of JSON, which appear under their name as a
  whole;
* `csv`: the format CSV: records of separated values, by the rules of univocity's parser as Spark sets them;
* `debezium_json`: Debezium's change events as JSON: an envelope with the row before and after the change;
* `glue_frames`: the wire format of AWS Glue's schema registry;
* `json`: JSON values as columns, with the meaning of Spark's `from_json`;
* `lines`: lines of a block of bytes: `lines`, with the compiled code in `kernel`;
* `misfits`: the error of a value that does not fit the type of its column;
* `protobuf`: protobuf: messages in the wire format, whose types a descriptor set gives;
* `registry`: schema registries: those that speak Confluent's REST API, and AWS Glue's;
* `row_emitter`: decodes one column of the rows that a reader has made, as they are emitted;
* `text_decoder`: decoding of text into columns, as JSON and CSV share it: arrays for kernels, zones, patterns
  of times;
* `wire_format`: Confluent's wire format: before each value are a zero and the id of its schema.
"""

"""The compiled code of Avro."""

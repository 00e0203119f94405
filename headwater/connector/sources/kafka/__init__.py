"""The Kafka source: its options, its columns, and the source that joins enumerator and reader."""

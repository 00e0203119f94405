"""The files source: its options, and the source that joins enumerator and reader."""

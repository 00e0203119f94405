"""Which files exist, which of them were read, and what becomes of them afterwards."""

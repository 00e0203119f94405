"""Which splits a source in the small form has: its enumerator."""

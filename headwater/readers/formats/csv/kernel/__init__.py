"""The compiled code of CSV: `decode` reads records, `inference` finds the types of columns."""

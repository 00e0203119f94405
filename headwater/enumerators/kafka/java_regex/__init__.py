"""Java's regular expressions, translated to Python's for the search in names of topics."""

"""Which sources there are: a table of options, and the factory that makes a source of them, for each."""

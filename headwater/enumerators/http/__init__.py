"""Which resources of a REST API exist: the ones that the user names."""

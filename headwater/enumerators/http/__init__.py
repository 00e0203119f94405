"""Which lists of a REST API a query begins with: those that the user names."""

"""Written by ``python -m headwater.connector.typed.writing``: a module for each source."""

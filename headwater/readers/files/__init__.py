"""How files are read: one module for each format, and what they share."""

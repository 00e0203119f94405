"""How splits of a source in the small form are read: its split reader."""

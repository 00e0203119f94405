"""How the splits of the demo source are read: its orders are made up."""

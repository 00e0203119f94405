"""Floor 4: the command line (``commands``), and metrics and the board (``monitoring``).

Nothing below imports it; only the public names of ``headwater`` lead here, and the console script.
"""

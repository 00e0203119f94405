"""Lists that change, read round by round: each round asks for the changes since the one before."""

"""The commands of the ``headwater`` program."""

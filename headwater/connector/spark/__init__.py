"""Spark's side: the classes of its Python data source API, translated into calls of the coordinators."""

"""Values in text: numbers, decimals, dates, times, zones, and patterns of times.

* `kernel`: compiled functions that read values in text;
* `layout`: the programs that patterns of times become, and the fields that they fill: numbers shared with the
  kernel;
* `time_pattern`: patterns of dates and times, as Spark takes them in `timestampFormat`, as programs for the
  kernel;
* `time_tables`: times for kernels: the zones that were seen, and the patterns that a user gave;
* `time_zones`: names of time zones, as Spark takes them.
"""

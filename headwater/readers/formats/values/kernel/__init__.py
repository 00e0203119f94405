"""Compiled functions that read values in text.

* `characters`: characters of ASCII. A position is an address, as in all functions that read text;
* `double_text`: doubles as Java writes them;
* `entries`: values that were read from text, written as entries of nodes: one place for each width;
* `exact_numbers`: numbers in text as integers and decimals, and how many digits they have;
* `lenient_times`: texts as dates and times: by patterns, as Spark casts text, or as its first versions wrote
  them;
* `moments`: days, and local times as points in time: the calendar, offsets of zones, and the range of 64
  bits;
* `numbers`: numbers of JSON as doubles and floats;
* `pattern_fields`: the fields of a text, as a pattern finds them, as a date or a time;
* `pattern_matching`: dates and times in text by a pattern: the kernel's half of `time_pattern`;
* `times`: dates and times in text, as Spark casts them: ISO 8601 with parts that may be missing, and time
  zones.
"""

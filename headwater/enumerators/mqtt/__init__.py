"""Which sessions at an MQTT broker a query has.

* `enumerator`: which sessions at an MQTT broker a query has, and how that changes when the options do;
* `topic_filters`: topic filters that no message matches twice: a broker delivers it once for each filter that
  it matches.
"""

"""The MQTT source: its options, and how it is put together.

* `configure`: from the user's options to the MQTT source.
"""

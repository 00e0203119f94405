"""The compiled code of Kafka's record format.

* `checksum`: CRC-32C, by the processor's instruction or by tables;
* `decode`: the kernel: decodes Kafka's record format v2 into Arrow buffers in one pass, without allocation or
  the GIL;
* `entry`: the one function of the machine code: its arguments are numbers, of which it makes arrays.
"""

"""The compiled code of Protobuf.

* `decode`: the kernel that decodes Protobuf messages into columns, row by row. It is compiled once;
* `entries`: entries of columns, for the kernel: opened, filled in any order, emptied, and ended;
* `messages`: one message, for the kernel: tag by tag, with the messages and groups in it;
* `numbers`: numbers and enums, for the kernel: from the wire into columns;
* `values`: values of fields, for the kernel: numbers, bytes, text and times, also those of lists and oneofs.
"""

"""The compiled code of Avro.

* `decode`: the kernel: runs a program of operations over each value, and fills the columns;
* `operations`: one value, for the kernel: the operations of a program, from the first to the last;
* `values`: values as entries of columns, for the kernel: bytes, text, decimals, times and nulls.
"""

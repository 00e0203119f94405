"""The format CSV: records of separated values, by the rules of univocity's parser as Spark sets them.

In ``kernel``, `plain_tokens` cuts ordinary records into values many bytes at a time, and `machine` reads all
others by the transition table of their dialect. `cells` makes values of columns of them.

* `csv_decoder`: decodes CSV records with the compiled kernel: values one by one, or records out of a stream
  of bytes;
* `csv_format`: the format `csv`: each value is a record of CSV whose values are columns, as Spark's
  `from_csv` has it;
* `csv_settings`: how CSV is written, and what its values mean: Spark's options, as the kernel needs them;
* `grammar`: the grammar of a dialect: what each state of the machine does with a character;
* `inference_layout`: the types that the kernel of inference finds: numbers that it and Python share;
* `kernel_options`: the kernel's table of options, and the transition table of a dialect;
* `layout`: the kernel's state and codes: numbers that the kernel and Python share;
* `states`: the states of the machine that cuts records: what the grammar of a dialect says of one character;
* `type_inference`: types of columns of text, found by the compiled kernel of inference.
"""

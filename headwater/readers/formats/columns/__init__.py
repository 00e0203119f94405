"""Columns of Arrow that kernels fill: their memory, and the nodes of nested types.

* `kernel`: compiled functions that fill columns;
* `kernel_runs`: runs of kernels over values: the addresses of values, and the loop that resumes a stopped
  kernel;
* `layout`: the memory layout that kernels of formats and Python share: the table of columns, the kernel's
  state;
* `row_arrays`: Arrow columns and batches of decoded values: structs of columns, and rows that are left out;
* `table`: the columns that a kernel fills, as a table of numbers: types, names, and where their buffers lie.
"""

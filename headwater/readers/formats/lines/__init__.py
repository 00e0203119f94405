"""Lines of a block of bytes: where each lies (`line_spans`), or what each is as a string (`line_texts`).

Ends of one byte are found by a kernel (`kernel`, `kernel_entry`, `kernel_code`), many bytes at a time.
"""

"""Lines of a block of bytes: `lines`, with the compiled code in `kernel`."""

"""Says at once that Python is too old: pip would try versions of the extras' libraries for minutes first."""

import sys

from setuptools import setup  # type: ignore[import-untyped] # its stubs are a package of their own

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python is what runs this line
    sys.exit(f"headwater needs Python 3.11 or newer; this is {'.'.join(map(str, sys.version_info[:2]))}")
setup()

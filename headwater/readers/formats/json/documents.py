"""Documents of JSON as the values that the format `json` decodes: lines, or whole files.

Each object of an array is a value; white space has no value. With other rules than Spark's, and where bytes
are not UTF-8, documents are rewritten: see `relaxed`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from headwater.readers.formats.format import Spans
from headwater.readers.formats.json import layout as L
from headwater.readers.kernels.arrays import ByteArray, Int32Array, Int64Array, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.json.kernel.elements",
    "split_documents",
    arguments=8,
    needed_for="files of JSON",
)

_OPEN_OBJECT: Final = ord("{")
_NOTE: Final = np.dtype([("at", np.int64), ("size", np.int64), ("document", np.int64)])


class Rewriting(NamedTuple):
    """From where the bytes of rewritten documents come.

    Attributes:
        source: the documents as they were.
        places: for the first byte of each token of the new text, where in the source the token begins. The
            numbers of other bytes mean nothing.
    """

    source: ByteArray
    places: Int32Array


class JsonValues(NamedTuple):
    """The values of documents.

    Attributes:
        spans: where they lie.
        documents: the number of the document that each value is of; None if each is that of its number.
        rewriting: how documents were rewritten, so that the spans are in a new text; None if they were not.
    """

    spans: Spans
    documents: Int64Array | None
    rewriting: Rewriting | None = None


def json_values(documents: Spans, rules: int, *, whole: bool = False) -> JsonValues:
    """Return the values of documents.

    Args:
        documents: which lie inside of their data with 64 more bytes behind each.
        rules: some of ``ALLOW_...``, by which documents are rewritten.
        whole: whether arrays of objects stay one value each.
    """
    if rules == L.AS_IT_IS:
        present = documents.sizes > 0
        if (documents.data[documents.starts[present]] == _OPEN_OBJECT).all():
            if present.all():
                return JsonValues(documents, None)
            spans = Spans(documents.data, documents.starts[present], documents.sizes[present])
            return JsonValues(spans, np.flatnonzero(present))
    return _split(documents, rules, whole=whole)


def _split(documents: Spans, rules: int, *, whole: bool) -> JsonValues:
    count = len(documents.sizes)
    starts = np.ascontiguousarray(documents.starts + address(documents.data), np.int64)
    sizes = np.ascontiguousarray(documents.sizes, np.int64)
    levels = np.zeros(L.LEVEL_BYTES, np.uint8)
    text: ByteArray = documents.data
    rewriting: Rewriting | None = None
    state = np.zeros(L.DOCUMENTS_FIELDS, np.int64)
    state[L.DOCUMENTS_RULES] = rules
    state[L.DOCUMENTS_ARE_WHOLE] = int(whole)
    if rules != L.AS_IT_IS:
        most = L.TEXT_GROWTH * int(sizes.sum()) + L.TEXT_EXTRA * count + L.BEHIND
        text = np.empty(most, np.uint8)
        rewriting = Rewriting(documents.data, np.zeros(most, np.int32))
        state[L.DOCUMENTS_TEXT] = address(text)
        state[L.DOCUMENTS_PLACES] = address(rewriting.places)
        state[L.DOCUMENTS_SOURCE] = address(documents.data)
    notes = np.empty(count + 1024, _NOTE)
    document = 0
    while True:
        begin = address(notes)
        document = KERNEL(
            *(address(array) if count else 0 for array in (starts, sizes)),
            *(document, count, address(levels), begin, begin + notes.nbytes, address(state)),
        )
        filled = int(state[L.DOCUMENTS_FILLED]) // L.NOTE_BYTES
        if document == count:
            break
        notes = np.concatenate([notes, np.empty(len(notes), _NOTE)])
    values = notes[:filled]
    spans = Spans(text, values["at"] - address(text), np.ascontiguousarray(values["size"]))
    return JsonValues(spans, np.ascontiguousarray(values["document"]), rewriting)

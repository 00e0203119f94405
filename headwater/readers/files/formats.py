"""All file formats by name. A format's module is imported when it is used."""

from __future__ import annotations

from importlib import import_module

from headwater.readers.files.file_format import FileFormat
from headwater.readers.files.settings import ReadSettings

FORMATS = {
    "arrow": ("columnar_formats", "ArrowFormat"),
    "avro": ("avro_format", "AvroFormat"),
    "csv": ("csv_format", "CsvFormat"),
    "feather": ("columnar_formats", "ArrowFormat"),
    "json": ("json_format", "JsonFormat"),
    "orc": ("columnar_formats", "OrcFormat"),
    "parquet": ("columnar_formats", "ParquetFormat"),
    "text": ("text_format", "TextFormat"),
}
"""What the user writes in ``option("format", ...)``: module and class."""


def make_format(settings: ReadSettings) -> FileFormat:
    """Return the format that the settings name."""
    module, name = FORMATS[settings.format]
    made: FileFormat = getattr(import_module(f"headwater.readers.files.{module}"), name)(settings)
    return made

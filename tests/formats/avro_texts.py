"""Texts that are Avro schemas, nearly, or not at all."""

from __future__ import annotations

from collections.abc import Mapping


def _record(*fields: str, more: str = "") -> str:
    return f'{{"type":"record","name":"R","fields":[{",".join(fields)}]{more}}}'


def _field(kind: str = '"int"', more: str = "", name: str = '"a"') -> str:
    return f'{{"name":{name},"type":{kind}{more}}}'


_FOUR = '{"type":"fixed","name":"F","size":4}'
_ENUM = '{"type":"enum","name":"E","symbols":["a","b"]}'
_FULL = '{"type":"record","name":"I","fields":[{"name":"x","type":"int"}]}'
_INNER = '{"type":"record","name":"I","fields":[]}'

JSON: tuple[str, ...] = (
    *("", "null", "true", "1", '"int"', '"foo"', "{}", '{"type":null}', '{"type":"foo"}', '{"type":1}'),
    *(_record(_field('"double"', f',"default":{number}')) for number in ("NaN", "Infinity", "-Infinity")),
    *(
        _record(_field('"double"', f',"default":{number}'))
        for number in ("1.", ".5", "+1", "01", "1e5", "1E400")
    ),
    _record(_field(more=',"doc":NaN')),
    _record(_field(more=',"doc":1')),
    _record(_field('"string"', ',"default":"\\ud800"')),
    _record(_field('"string"', ',"default":"\\a"')),
    _record(_field(more=',"doc":"a\tb"')),
    _record(_field()) + " x",
    _record(_field()) + " {}",
    _record(_field() + ","),
    _record(_field()).replace('"', "'"),
    "/* a */" + _record(_field()),
    "// a\n" + _record(_field()),
    "# a\n" + _record(_field()),
    "\ufeff" + _record(_field()),
    "\u00a0" + _record(_field()),
)
"""Of which most are refused as no JSON."""

SHAPES: tuple[str, ...] = (
    '{"type":"int","type":"string"}',
    '{"type":"int","a":{"b":[1,null]}}',
    '{"type":"int","logicalType":1}',
    '{"type":"bytes","logicalType":"decimal","precision":-1}',
    '{"type":"bytes","logicalType":"decimal","precision":"9"}',
    *(
        f'{{"type":"fixed","name":"F","size":{size}}}'
        for size in ("0", "4.0", '"4"', "-1", "true", "4294967296")
    ),
    '{"type":"fixed","name":"F"}',
    *('{"type":"array"}', '{"type":"map"}', '{"type":"record","name":"R"}'),
    *('["int","int"]', '["int",["null"]]', '["null","int"]'),
    '[{"type":"array","items":"int"},{"type":"array","items":"long"}]',
    '{"type":"error","name":"R","fields":[]}',
    *(
        f'{{"type":"record","name":"R","fields":{fields}}}'
        for fields in ("{}", '["a"]', "null", '[{"name":"a"}]')
    ),
    _record('{"type":"int"}'),
    _record(_field(), _field()),
    *(
        _record(_field(more=f',"order":{order}'))
        for order in ('"ignore"', '"Descending"', '"x"', "1", "null")
    ),
    *(
        _record(_field(more=f',"aliases":{aliases}'))
        for aliases in ("[]", '["b"]', '"b"', "[1]", "null", '["a b"]')
    ),
    *(
        _record(_field(), more=f',"aliases":{aliases}')
        for aliases in ('["b"]', '"b"', "[1]", "null", '["a b"]')
    ),
    *(f'{{"type":"enum","name":"E","symbols":{symbols}}}' for symbols in ('["a","a"]', '"a"', "null")),
    '{"type":"enum","name":"E"}',
    *(
        f'{{"type":"enum","name":"E","symbols":["a"],"default":{default}}}'
        for default in ('"a"', '"b"', "1", "null")
    ),
    *(_record(_field(kind), _field(kind, name='"b"')) for kind in (_FOUR, _ENUM, _INNER, _FULL)),
    _record(_field(_FOUR), _field(_FOUR.replace("4", "5"), name='"b"')),
    _record(_field(_FULL), _field(_FULL.replace("int", "long"), name='"b"')),
    _record(_field(_FULL), _field(_FULL.replace('"int"', '"int","doc":"x"'), name='"b"')),
    _record(_field(_FULL), _field(_INNER, name='"b"')),
    _record(_field(_FOUR), _field(_INNER.replace("I", "F"), name='"b"')),
    _record(_field(_ENUM), _field(_ENUM.replace('"b"', '"c"'), name='"b"')),
    '{"type":"record","name":"int","fields":[]}',
    '{"type":"record","name":".R","fields":[]}',
    '{"type":"record","name":"R","namespace":1,"fields":[]}',
    '{"type":"record","name":"R","namespace":"","fields":[]}',
    '{"type":"record","name":"R","namespace":null,"fields":[]}',
)
"""Of JSON, whose names are right."""

NAMES: tuple[str, ...] = (
    *(
        f'{{"type":"record","name":{name},"fields":[]}}'
        for name in ('"1R"', '"a-b"', '"a b"', '"ä"', '"a.1"', "1", '""')
    ),
    '{"type":"record","fields":[]}',
    '{"type":"record","name":"R","namespace":"1-2","fields":[]}',
    '{"type":"record","name":"R","namespace":"a b","fields":[]}',
    *(_record(_field(name=name)) for name in ('"a b"', '"a-b"', '"1"', '"ä"', '"a.b"', "1", '""')),
    *(
        f'{{"type":"enum","name":"E","symbols":[{symbol}]}}'
        for symbol in ('"a b"', '"1"', '"a-b"', '"a.b"', '""', '"ä"')
    ),
)
"""Of JSON, with names that mean something to some programs."""

TEXTS: Mapping[str, tuple[str, ...]] = {"json": JSON, "shapes": SHAPES, "names": NAMES}

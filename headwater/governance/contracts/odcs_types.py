"""Maps types as sent by producers to logical types of the Open Data Contract Standard."""

import re

_LOGICAL = {
    "integer": "byte tinyint int8 short smallint int16 int integer int32 int2 int4 long bigint int64 hugeint serial "
    "bigserial uint8 uint16 uint32 uint64",
    "number": "float real float4 float32 double float8 float64 decimal dec numeric number bignumeric money",
    "boolean": "boolean bool bit",
    "date": "date date32 date64 localdate",
    "timestamp": "timestamp timestamp_ntz timestamp_ltz timestamptz timestamp_tz datetime datetime2 smalldatetime "
    "localdatetime instant",
    "time": "time timetz localtime",
    "string": "string str varchar char character text nvarchar nchar clob uuid json jsonb variant xml binary varbinary "
    "bytes bytea blob interval",
    "array": "array list",
    "object": "struct record row object map",
}
_BY_WORD = {word: logical for logical, words in _LOGICAL.items() for word in words.split()}
_WORD = re.compile(r"[a-z_0-9]+")


def logical_type(sent: str | None) -> str:
    """Return the logical type of a type as sent, such as `decimal(10,2)`; `string` if it is unknown.

    Maps become `object`, because the standard's JSON Schema requires key and value types of a map, which events do not
    contain.
    """
    text = (sent or "").strip().casefold()
    if text.endswith("[]"):
        return "array"
    found = _WORD.match(text)
    return _BY_WORD.get(found[0], "string") if found else "string"

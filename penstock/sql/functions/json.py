"""JSON: querying documents, building them, VARIANT.

Documents are read by Python (`json_documents.py`), because Flink's answers depend on details no Spark function
keeps: the difference between lax and strict paths, number texts such as 2.50, keys in sorted order.
A query answers with a letter and a text: `V…` a value, `E` nothing there, `X` an error; what ON EMPTY
and ON ERROR make of these is decided in the Spark expression, so that an error in a branch not taken is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import (
    ArrayType,
    BooleanType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    FloatType,
    LocalZonedTimestampType,
    TimeType,
    VariantType,
    YearMonthIntervalType,
)
from penstock.common.errors import ValidationError
from penstock.sql.functions.casts import cast_sql
from penstock.sql.functions.registry import NO_LITERAL, Arg, ArgType
from penstock.sql.functions.rules import (
    ANY,
    BOOLEAN,
    CHARACTER,
    literal_text,
    maybe,
    never,
    nullable,
    of,
    opt,
    refuse,
    rest,
    scalar,
)
from penstock.sql.functions.text import fail, let, string, typed_null, udf

_RAW = ("penstock_json_object(", "penstock_json_array(", "penstock_json_raw(")
_NOT_IN_JSON = (DateType, TimeType, DayTimeIntervalType, YearMonthIntervalType)


def _word(args: Sequence[Arg], index: int, default: str) -> str:
    """A keyword argument such as 'NULL' or 'EMPTY ARRAY'."""
    if len(args) > index and isinstance(args[index].literal, str):
        return str(args[index].literal).upper()
    return default


def _failure(name: str, what: str) -> str:
    return fail(string(f"{name}: {what}"))


# --- queries --------------------------------------------------------------------------------------------

scalar(
    "IS JSON",
    (CHARACTER, opt(ANY)),
    never(DataTypes.BOOLEAN),
    render=lambda args, result: (
        f"coalesce({udf('is_json', args[0].sql, string(_word(args, 1, 'VALUE')))}, FALSE)"
    ),
    how="udf",
)
scalar(
    "IS NOT JSON",
    (CHARACTER, opt(ANY)),
    never(DataTypes.BOOLEAN),
    render=lambda args, result: (
        f"(NOT coalesce({udf('is_json', args[0].sql, string(_word(args, 1, 'VALUE')))}, FALSE))"
    ),
    how="udf",
)


def _exists(args: Sequence[Arg], result: DataType) -> str:
    on_error = {"TRUE": "TRUE", "FALSE": "FALSE", "UNKNOWN": "NULL"}.get(_word(args, 2, "FALSE"))
    error = on_error or _failure("JSON_EXISTS", "the path is not there, and ERROR ON ERROR was asked for")
    return let(
        lambda r: f"CASE {r} WHEN 'V' THEN TRUE WHEN 'E' THEN FALSE WHEN 'X' THEN {error} END",
        udf("json_exists", args[0].sql, args[1].sql),
    )


scalar("JSON_EXISTS", (CHARACTER, CHARACTER, opt(ANY)), maybe(DataTypes.BOOLEAN), render=_exists, how="udf")


def _returning(args: Sequence[ArgType]) -> DataType:
    if len(args) > 2 and args[2].literal is NO_LITERAL:
        return args[2].type.nullable()
    return DataTypes.STRING()


def _path_checked(name: str, args: Sequence[ArgType]) -> None:
    literal_text(args[1], name, "its path")


def _value_type(args: Sequence[ArgType]) -> DataType:
    _path_checked("JSON_VALUE", args)
    result = _returning(args)
    if isinstance(result, (ArrayType, VariantType)):
        raise ValidationError(
            f"JSON_VALUE cannot return {result.as_summary()}", do="use JSON_QUERY for arrays"
        )
    return result


def _value(args: Sequence[Arg], result: DataType) -> str:
    def behaviour(at: int, what: str) -> str:
        word = _word(args, at, "NULL")
        if word == "ERROR":
            return _failure("JSON_VALUE", what)
        if word == "DEFAULT" and len(args) > at + 1:
            return cast_sql(args[at + 1], result)
        return typed_null(result)

    on_empty = behaviour(3, "nothing is at the path, and ERROR ON EMPTY was asked for")
    on_error = behaviour(5, "the document or path is wrong, and ERROR ON ERROR was asked for")

    def choose(r: str, empty: str, error: str) -> str:
        value = cast_sql(Arg(f"substring({r}, 2)", DataTypes.STRING()), result)
        if isinstance(result, BooleanType):
            value = f"CAST(substring({r}, 2) AS BOOLEAN)"
        tag = f"substring({r}, 1, 1)"
        return f"CASE {tag} WHEN 'V' THEN {value} WHEN 'E' THEN {empty} WHEN 'X' THEN {error} END"

    called = udf("json_value", args[0].sql, args[1].sql)
    lazy = "raise_error" in on_empty + on_error
    if lazy:
        return let(lambda r: choose(r, on_empty, on_error), called)
    return let(choose, called, on_empty, on_error)


scalar(
    "JSON_VALUE",
    (CHARACTER, CHARACTER, opt(ANY), opt(ANY), opt(ANY), opt(ANY), opt(ANY)),
    _value_type,
    render=_value,
    how="udf",
)


def _query_type(args: Sequence[ArgType]) -> DataType:
    _path_checked("JSON_QUERY", args)
    result = _returning(args)
    is_texts = isinstance(result, ArrayType) and CHARACTER.has(result.element_type)
    if not (is_texts or CHARACTER.has(result)):
        raise ValidationError(
            f"JSON_QUERY cannot return {result.as_summary()}", do="use STRING or ARRAY<STRING>"
        )
    return result


def _query(args: Sequence[Arg], result: DataType) -> str:
    constants = {"NULL": None, "EMPTY ARRAY": "[]", "EMPTY OBJECT": "{}"}

    def behaviour(at: int, what: str) -> str:
        word = _word(args, at, "NULL")
        if word == "ERROR":
            return _failure("JSON_QUERY", what)
        text = constants.get(word)
        if isinstance(result, ArrayType):
            return "CAST(array() AS ARRAY<STRING>)" if text == "[]" else "CAST(NULL AS ARRAY<STRING>)"
        return "CAST(NULL AS STRING)" if text is None else string(text)

    on_empty = behaviour(4, "nothing is at the path, and ERROR ON EMPTY was asked for")
    on_error = behaviour(5, "the document or path is wrong, and ERROR ON ERROR was asked for")
    function = "json_query_texts" if isinstance(result, ArrayType) else "json_query"
    called = udf(function, args[0].sql, args[1].sql, string(_word(args, 3, "WITHOUT")))
    return let(
        lambda r: (
            f"CASE {r}.tag WHEN 'V' THEN {r}.value WHEN 'E' THEN {on_empty} WHEN 'X' THEN {on_error} END"
        ),
        called,
    )


scalar(
    "JSON_QUERY",
    (CHARACTER, CHARACTER, opt(ANY), opt(ANY), opt(ANY), opt(ANY)),
    _query_type,
    render=_query,
    how="udf",
)

# --- building documents ---------------------------------------------------------------------------------


def checked_json_value(name: str, arg: ArgType) -> None:
    """Refuses values that JSON has no form for."""
    if isinstance(arg.type, _NOT_IN_JSON):
        raise ValidationError(
            f"{name}: {arg.type.as_summary()} cannot be converted into JSON",
            do="CAST it to STRING or TIMESTAMP",
        )


def json_argument(arg: Arg) -> tuple[str, str]:
    """The text of a value for the JSON writer, and TRUE if it is JSON already."""
    if arg.sql.startswith(_RAW):
        return arg.sql, "TRUE"
    if isinstance(arg.type, FloatType):
        return f"CAST({arg.sql} AS DOUBLE)", "FALSE"
    if isinstance(arg.type, LocalZonedTimestampType):
        return (
            f"date_format(to_utc_timestamp({arg.sql}, current_timezone()), \"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'\")",
            "FALSE",
        )
    if isinstance(arg.type, VariantType):
        return f"to_json({arg.sql})", "TRUE"
    return arg.sql, "FALSE"


def _json_string(args: Sequence[Arg], result: DataType) -> str:
    if isinstance(args[0].type, VariantType):
        return f"to_json({args[0].sql})"
    return udf("json_string", json_argument(args[0])[0])


def _json_string_type(args: Sequence[ArgType]) -> DataType:
    checked_json_value("JSON_STRING", args[0])
    return DataTypes.STRING(nullable(args))


def _object_type(args: Sequence[ArgType]) -> DataType:
    if len(args) % 2 == 0:
        raise refuse("JSON_OBJECT", args, "JSON_OBJECT([KEY] name VALUE value, ...)")
    for key in args[1::2]:
        if not CHARACTER.has(key.type):
            raise refuse("JSON_OBJECT", args[1:], "names that are CHARACTER")
    for value in args[2::2]:
        checked_json_value("JSON_OBJECT", value)
    return DataTypes.STRING(False)


def _array_type(args: Sequence[ArgType]) -> DataType:
    for value in args[1:]:
        checked_json_value("JSON_ARRAY", value)
    return DataTypes.STRING(False)


def _json_object(args: Sequence[Arg], result: DataType) -> str:
    parts = [string(_word(args, 0, "NULL"))]
    for key, value in zip(args[1::2], args[2::2], strict=True):
        parts += [key.sql, *json_argument(value)]
    return udf("json_object", *parts)


def _json_array(args: Sequence[Arg], result: DataType) -> str:
    parts = [string(_word(args, 0, "ABSENT"))]
    for value in args[1:]:
        parts += json_argument(value)
    return udf("json_array", *parts)


scalar("JSON_STRING", (ANY,), _json_string_type, render=_json_string, how="udf")
scalar("JSON_OBJECT", (ANY, rest(ANY)), _object_type, render=_json_object, how="udf")
scalar("JSON_ARRAY", (ANY, rest(ANY)), _array_type, render=_json_array, how="udf")
scalar("JSON", (CHARACTER,), of(DataTypes.STRING), lambda s: udf("json_raw", s), how="udf")

# --- VARIANT --------------------------------------------------------------------------------------------


def _parse_json(function: str, args: Sequence[Arg]) -> str:
    if len(args) > 1 and args[1].literal is not False:
        return f"{function}({udf('json_last_key_wins', args[0].sql, args[1].sql)})"
    return f"{function}({args[0].sql})"


scalar(
    "PARSE_JSON",
    (CHARACTER, opt(BOOLEAN)),
    lambda args: DataTypes.VARIANT(args[0].type.is_nullable),
    render=lambda args, result: _parse_json("parse_json", args),
    how="spark",
)
scalar(
    "TRY_PARSE_JSON",
    (CHARACTER, opt(BOOLEAN)),
    maybe(DataTypes.VARIANT),
    render=lambda args, result: _parse_json("try_parse_json", args),
    how="spark",
)

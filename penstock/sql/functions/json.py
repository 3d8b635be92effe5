"""JSON: querying documents, building them, VARIANT.

Documents are read by Python (`json_documents.py`), because Flink's answers depend on details no Spark function
keeps: the difference between lax and strict paths, number texts such as 2.50, keys in sorted order.
A query answers with a letter and a text: `V…` a value, `E` nothing there, `X` an error; what ON EMPTY
and ON ERROR make of these is decided in the Spark expression, so that an error in a branch not taken is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.common.datatypes import (
    ArrayType,
    BooleanType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowType,
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
    maybe,
    never,
    nullable,
    of,
    opt,
    refuse,
    rest,
    scalar,
)
from penstock.sql.functions.text import cast, fail, let, quoted_name, string, typed_null, udf

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


def json_kind(result: DataType) -> str | None:
    """What JSON_VALUE has to find for its result type, None if it cannot return that type.

    Flink reads nothing from JSON texts: `RETURNING INTEGER` fails for "42" as it does for 4.2.
    """
    if CHARACTER.has(result):
        return "TEXT"
    kinds: dict[type[DataType], str] = {BooleanType: "BOOLEAN", IntType: "INTEGER", DoubleType: "DOUBLE"}
    return kinds.get(type(result))


def _value_type(args: Sequence[ArgType]) -> DataType:
    result = _returning(args)
    if json_kind(result) is None:
        raise ValidationError(
            f"JSON_VALUE cannot return {result.as_summary()}",
            do="return STRING, BOOLEAN, INTEGER or DOUBLE and CAST that, or use JSON_QUERY for arrays",
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

    kind = json_kind(result)

    def choose(r: str, empty: str, error: str) -> str:
        text, tag = f"substring({r}, 2)", f"substring({r}, 1, 1)"
        value = text if kind == "TEXT" else cast(text, result)
        other = fail(f"concat('JSON_VALUE: ', {text}, {string(f' is no {kind}')})")
        wrong = "" if kind == "TEXT" else f" WHEN 'T' THEN {other}"
        return f"CASE {tag} WHEN 'V' THEN {value} WHEN 'E' THEN {empty} WHEN 'X' THEN {error}{wrong} END"

    called = udf("json_value", args[0].sql, args[1].sql, string(str(kind)))
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
    if isinstance(arg.type, NullType) and name != "JSON_STRING":
        raise ValidationError(f"{name}: the type of NULL is not known", do="CAST it to a type")
    for part in _leaves(arg.type):
        if isinstance(part, _NOT_IN_JSON):
            raise ValidationError(
                f"{name}: {part.as_summary()} cannot be converted into JSON",
                do="CAST it to STRING or TIMESTAMP",
            )


def _leaves(data_type: DataType) -> Iterator[DataType]:
    """The types of the values inside."""
    if isinstance(data_type, (ArrayType, MultisetType)):
        yield from _leaves(data_type.element_type)
    elif isinstance(data_type, MapType):
        yield from _leaves(data_type.key_type)
        yield from _leaves(data_type.value_type)
    elif isinstance(data_type, RowType):
        for field in data_type:
            yield from _leaves(field.data_type)
    else:
        yield data_type


def json_argument(arg: Arg) -> tuple[str, str]:
    """The text of a value for the JSON writer, and TRUE if it is JSON already."""
    if arg.sql.startswith(_RAW):
        return arg.sql, "TRUE"
    if isinstance(arg.type, FloatType):
        return f"CAST({arg.sql} AS DOUBLE)", "FALSE"
    if isinstance(arg.type, VariantType):
        return f"to_json({arg.sql})", "TRUE"
    return _with_instants(arg.sql, arg.type), "FALSE"


def _with_instants(sql: str, data_type: DataType) -> str:
    """The value with moments as texts of UTC: `2024-02-29T12:00:00Z`, with a fraction of a second if there is one."""
    if not any(isinstance(part, LocalZonedTimestampType) for part in _leaves(data_type)):
        return sql
    if isinstance(data_type, ArrayType):
        return f"transform({sql}, e -> {_with_instants('e', data_type.element_type)})"
    if isinstance(data_type, MapType):
        return f"transform_values({sql}, (k, e) -> {_with_instants('e', data_type.value_type)})"
    if isinstance(data_type, RowType):
        parts = [
            f"{string(f.name)}, {_with_instants(f'({sql}).{quoted_name(f.name)}', f.data_type)}"
            for f in data_type
        ]
        return f"if(({sql}) IS NULL, NULL, named_struct({', '.join(parts)}))"
    utc = f"date_format(to_utc_timestamp({sql}, current_timezone()), \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")"
    return f"concat(regexp_replace({utc}, '([.]000000|000)$', ''), 'Z')"


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
        if not CHARACTER.has(key.type) or key.type.is_nullable:
            raise refuse("JSON_OBJECT", args[1:], "names that are CHARACTER and never NULL")
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

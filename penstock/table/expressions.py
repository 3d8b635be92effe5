"""Functions that make expressions: columns, constants, and calls that do not begin with a value.

>>> print(if_then_else(col("n") > 1, concat(col("s"), "!"), lit("-")))
ifThenElse(greaterThan(n, 1), concat(s, '!'), '-')
"""

from __future__ import annotations

from typing import Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import ValidationError
from penstock.table.expression import Expression, JsonOnNull, TimePointUnit
from penstock.table.expression_parts.base import literal, make, node_of
from penstock.table.expression_parts.nodes import (
    Apply,
    Bound,
    CallByName,
    Name,
    Node,
    Rows,
    SqlText,
    Value,
)

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]

UNBOUNDED_ROW: Expression[Any] = Expression(Bound("UNBOUNDED_ROW"))
"""In `preceding`: from the first row of the partition on, counted in rows."""
UNBOUNDED_RANGE: Expression[Any] = Expression(Bound("UNBOUNDED_RANGE"))
"""In `preceding`: from the first row of the partition on, by the value that orders it."""
CURRENT_ROW: Expression[Any] = Expression(Bound("CURRENT_ROW"))
"""In `following`: up to the row itself."""
CURRENT_RANGE: Expression[Any] = Expression(Bound("CURRENT_RANGE"))
"""In `following`: up to the last row with the same value of the column that orders the window."""


def _apply(function: str, *args: Any) -> Expression[Any]:
    """A call; arguments that are None were left out."""
    return make(Apply(function, tuple(node_of(a) for a in args if a is not None)))


def _apply_all(function: str, *args: Any) -> Expression[Any]:
    """A call in which None is NULL."""
    return make(Apply(function, tuple(_or_null(a) for a in args)))


def _or_null(value: Any) -> Node:
    return Value(None, DataTypes.NULL()) if value is None else node_of(value)


# -- columns and constants -------------------------------------------------------------------------------


def col(name: str) -> Expression[Any]:
    """A column; `*` is all of them."""
    if not isinstance(name, str):
        raise ValidationError(f"col takes the name of a column, got {name!r}", do="use lit(...) for values")
    return make(Name(name))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A constant, of the type Flink gives such a value or of a declared one.

    >>> print(lit("it's"), lit(1.5), lit(None, DataTypes.INT()))
    'it''s' 1.5 null
    """
    return make(literal(v, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """In `with_columns`: the columns from one to another, by name or by position from 1."""
    return make(Apply("rangeTo", (_column(start), _column(end))))


def _column(place: Any) -> Node:
    return Name(place) if isinstance(place, str) else node_of(place)


def with_all_columns() -> Expression[Any]:
    """All columns: the same as `col("*")`."""
    return make(Apply("withAllColumns"))


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """The named columns, positions and ranges, as so many arguments."""
    return _apply("withColumns", head, *tails)


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """All columns but these."""
    return _apply("withoutColumns", head, *tails)


def null_of(data_type: DataType) -> Expression[Any]:
    """NULL of a type."""
    return make(Value(None, data_type.nullable()))


def row_interval(rows: int) -> Expression[Any]:
    """A number of rows, for windows."""
    if not isinstance(rows, int) or isinstance(rows, bool):
        raise ValidationError(f"row_interval takes a whole number of rows, got {rows!r}")
    return make(Rows(rows))


def descriptor(*column_names: str) -> Expression[Any]:
    """Columns of a table argument, by name."""
    return _apply("DESCRIPTOR", *column_names)


def call(f: Any, *args: Any) -> Expression[Any]:
    """A function of the catalogs or of SQL by its name, or one that `udf(...)` and its like have made."""
    if isinstance(f, str):
        return make(CallByName(f, tuple(node_of(a) for a in args)))
    if not callable(f):
        raise ValidationError(f"{f!r} is not a function", do="pass the name of one, or what udf(...) made")
    called = f(*args)
    if not isinstance(called, Expression):
        raise ValidationError(
            f"{getattr(f, '__name__', f)!r} is not a user-defined function",
            do="wrap it with udf(..., result_type=...)",
        )
    return called


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression written in SQL, over the columns of the table."""
    return make(SqlText(sql_expression))


# -- logic -----------------------------------------------------------------------------------------------


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[Any]:
    """Whether all conditions are true."""
    return _apply("and", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[Any]:
    """Whether any condition is true."""
    return _apply("or", predicate0, predicate1, *predicates)


def not_(expression: Any) -> Expression[Any]:
    """The opposite; NULL stays NULL, unlike with `~`."""
    return _apply("not", expression)


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """One value where the condition is true, another where it is not."""
    return _apply_all("ifThenElse", condition, if_true, if_false)


def coalesce(*args: Any) -> Expression[Any]:
    """The first value that is not NULL."""
    return _apply_all("COALESCE", *args)


# -- time ----------------------------------------------------------------------------------------------


def current_database() -> Expression[Any]:
    """The database that is in use."""
    return _apply("currentDatabase")


def current_date() -> Expression[Any]:
    """The date, in the session's time zone."""
    return _apply("currentDate")


def current_time() -> Expression[Any]:
    """The time of day, in the session's time zone."""
    return _apply("currentTime")


def current_timestamp() -> Expression[Any]:
    """The moment."""
    return _apply("currentTimestamp")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """The watermark of a row time, where the row is."""
    return _apply("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """The time of day, in the session's time zone."""
    return _apply("localTime")


def local_timestamp() -> Expression[Any]:
    """The date and time in the session's time zone, as a timestamp without one."""
    return _apply("localTimestamp")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """A text of a format (yyyy-MM-dd) as a date."""
    return _apply("toDate", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """A text of a format (yyyy-MM-dd HH:mm:ss) as a timestamp."""
    return _apply("toTimestamp", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """A number of seconds or milliseconds, or a text, as a moment."""
    return _apply("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[Any]:
    """Whether two spans of time have a moment in common; a span ends at a moment or after an interval."""
    return _apply("temporalOverlaps", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression[Any]:
    """A timestamp as text, in a format of Java's."""
    return _apply("dateFormat", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression[Any]:
    """How many units of time there are from the first moment to the second."""
    return _apply("timestampDiff", time_point_unit, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[Any]:
    """A date and time of one time zone as that of another."""
    return _apply("convertTz", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[Any]:
    """Seconds since 1970 as text in the session's time zone."""
    return _apply("fromUnixtime", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[Any]:
    """The seconds since 1970 of a text, or of now."""
    return _apply("unixTimestamp", date_str, format)


def source_watermark() -> Expression[Any]:
    """In a schema: the watermarks of the source itself."""
    return _apply("SOURCE_WATERMARK")


# -- collections ---------------------------------------------------------------------------------------


def array(head: Any, *tail: Any) -> Expression[Any]:
    """An array of values."""
    return _apply("array", head, *tail)


def row(head: Any, *tail: Any) -> Expression[Any]:
    """A row of values."""
    return _apply("row", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """A map of keys and values, one after the other."""
    return _apply("map", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """A map of an array of keys and an array of values."""
    return _apply("mapFromArrays", key, value)


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    """A structured object of a class, of names and values."""
    return _apply("OBJECT_OF", class_name, *args)


# -- numbers and text ----------------------------------------------------------------------------------


def pi() -> Expression[Any]:
    """The circle's ratio."""
    return _apply("pi")


def e() -> Expression[Any]:
    """Euler's number."""
    return _apply("e")


def rand(seed: Any = None) -> Expression[Any]:
    """A random number from 0 to 1; with a seed always the same ones."""
    return _apply("rand", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[Any]:
    """A random whole number from 0 to below the bound."""
    return _apply("randInteger", seed, bound)


def atan2(y: Any, x: Any) -> Expression[Any]:
    """The angle of a point."""
    return _apply("atan2", y, x)


def negative(v: Any) -> Expression[Any]:
    """The value with the opposite sign."""
    return _apply("minusPrefix", v)


def concat(first: Any, *others: Any) -> Expression[Any]:
    """The texts as one; NULL if one of them is NULL."""
    return _apply("concat", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[Any]:
    """The texts as one with a separator between them; NULLs are left out."""
    return _apply("concat_ws", separator, first, *others)


def uuid() -> Expression[Any]:
    """A random identifier."""
    return _apply("uuid")


def log(v: Any, base: Any = None) -> Expression[Any]:
    """The logarithm to a base, or the natural one."""
    return _apply("log", base, v)


# -- JSON ----------------------------------------------------------------------------------------------


def json(value: Any) -> Expression[Any]:
    """In `json_object` and `json_array`: a text that is JSON already."""
    return _apply("JSON", value)


def json_string(value: Any) -> Expression[Any]:
    """A value as JSON."""
    return _apply("JSON_STRING", value)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[Any]:
    """The keys and values of a group as a JSON object."""
    return _apply("JSON_OBJECTAGG", on_null, key_expr, value_expr)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[Any]:
    """The values of a group as a JSON array."""
    return _apply("JSON_ARRAYAGG", on_null, item_expr)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[Any]:
    """A JSON object of keys and values, one after the other."""
    return _apply_all("JSON_OBJECT", on_null, *args)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[Any]:
    """A JSON array of values."""
    return _apply_all("JSON_ARRAY", on_null, *args)


# -- windows ---------------------------------------------------------------------------------------------


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """With `over`: the value of an earlier row."""
    return _apply("LAG", expr, offset, default)


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """With `over`: the value of a later row."""
    return _apply("LEAD", expr, offset, default)

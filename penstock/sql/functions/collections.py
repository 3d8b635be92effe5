"""Arrays, maps, rows and structured objects: making them, reading them, changing them.

Positions count from 1, a position or key that is not there gives NULL, a later key replaces an earlier one.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from penstock.common.datatypes import (
    ArrayType,
    BooleanType,
    DataType,
    DataTypes,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    VariantType,
)
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.function_types import StructuredType
from penstock.sql.functions.casts import cast_sql
from penstock.sql.functions.common_types import common_type
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, Render, register
from penstock.sql.functions.rules import (
    ANY,
    ARRAY,
    BOOLEAN,
    CHARACTER,
    COLLECTION,
    INTEGER,
    MAP,
    Result,
    like,
    literal_text,
    nullable,
    of,
    opt,
    refuse,
    rest,
    scalar,
)
from penstock.sql.functions.text import fail_text, let, quoted_name, spark_type, string

# --- constructors ---------------------------------------------------------------------------------------


def _array_type(args: Sequence[ArgType]) -> DataType:
    element = common_type([a.type for a in args]) if args else None
    if element is None or isinstance(element, NullType):
        raise refuse("ARRAY", args, "ARRAY[value, ...] with values of one type")
    return ArrayType(element, nullable=False)


def _array(args: Sequence[Arg], result: DataType) -> str:
    assert isinstance(result, ArrayType)
    if not args:
        return f"CAST(array() AS {spark_type(result)})"
    element = result.element_type
    texts = ["NULL" if isinstance(element, NullType) else cast_sql(a, element) for a in args]
    return f"array({', '.join(texts)})"


def _map_type(args: Sequence[ArgType]) -> DataType:
    key = common_type([a.type for a in args[0::2]]) if args and len(args) % 2 == 0 else None
    value = common_type([a.type for a in args[1::2]]) if args else None
    if key is None or value is None:
        raise refuse("MAP", args, "MAP[key, value, ...] with keys of one type and values of one type")
    return MapType(key, value, nullable=False)


def _map(args: Sequence[Arg], result: DataType) -> str:
    assert isinstance(result, MapType)
    if not args:
        return f"CAST(map() AS {spark_type(result)})"
    kinds = (result.key_type, result.value_type)
    texts = [cast_sql(a, kinds[i % 2]) for i, a in enumerate(args)]
    if not result.key_type.is_nullable:
        return f"map({', '.join(texts)})"
    # Spark's maps have no NULL key; nothing finds such an entry, so it is left out.
    pairs = zip(texts[0::2], texts[1::2], strict=True)
    entries = ", ".join(f"named_struct('key', {key}, 'value', {value})" for key, value in pairs)
    return f"map_from_entries(filter(array({entries}), e -> e.key IS NOT NULL))"


def _row_type(args: Sequence[ArgType]) -> DataType:
    if any(a.is_literal and isinstance(a.type, NullType) for a in args):
        raise refuse("ROW", args, "CAST(NULL AS ...)", why="illegal use of NULL")
    return RowType([RowField(f"EXPR${i}", a.type) for i, a in enumerate(args)], nullable=False)


def struct_text(names: Sequence[str], texts: Sequence[str]) -> str:
    """A Spark struct of named values."""
    return "named_struct(" + ", ".join(f"{string(n)}, {t}" for n, t in zip(names, texts, strict=True)) + ")"


def _row(args: Sequence[Arg], result: DataType) -> str:
    assert isinstance(result, RowType)
    return struct_text(result.field_names(), [a.sql for a in args])


def _multiset_type(args: Sequence[ArgType]) -> DataType:
    raise NotSupportedError("the MULTISET[...] constructor", "Flink parses it but cannot run it either")


register(FunctionDef("ARRAY", "scalar", _array_type, _array))
register(FunctionDef("MAP", "scalar", _map_type, _map))
register(FunctionDef("ROW", "scalar", _row_type, _row))
register(FunctionDef("MULTISET", "scalar", _multiset_type))

# --- access ---------------------------------------------------------------------------------------------


def _item_type(args: Sequence[ArgType]) -> DataType:
    if len(args) == 2:
        source, index = args[0].type, args[1]
        if isinstance(source, ArrayType) and isinstance(index.type, (IntegralType, NullType)):
            if isinstance(index.literal, int) and index.literal < 1:
                raise ValidationError(
                    f"array element access needs an index starting at 1 but was {index.literal}"
                )
            return source.element_type.nullable()
        if isinstance(source, MapType) and common_type([source.key_type, index.type]) is not None:
            return source.value_type.nullable()
        if isinstance(source, VariantType) and (INTEGER.has(index.type) or CHARACTER.has(index.type)):
            return DataTypes.VARIANT()
    raise refuse("[]", args, "<ARRAY>[<INTEGER>]", "<MAP>[<KEY>]", "<VARIANT>[<INTEGER or CHARACTER>]")


def _item(args: Sequence[Arg], result: DataType) -> str:
    source, index = args
    if isinstance(source.type, ArrayType):
        return f"get({source.sql}, CAST({index.sql} AS INT) - 1)"
    if isinstance(source.type, MapType):
        return f"element_at({source.sql}, {cast_sql(index, source.type.key_type)})"
    return _variant_item(source, index)


def _variant_item(source: Arg, index: Arg) -> str:
    by_key = CHARACTER.has(index.type)
    kind = "object" if by_key else "array"
    message = fail_text(f"access by {'key' if by_key else 'index'} needs a VARIANT that holds an {kind}")
    if by_key:
        place = f"concat('$[\"', {index.sql}, '\"]')"
    else:
        place = f"concat('$[', CAST({index.sql} - 1 AS STRING), ']')"
    if isinstance(index.literal, int):
        place = f"'$[{index.literal - 1}]'"
        if index.literal < 1:
            return "CAST(NULL AS VARIANT)"
    if isinstance(index.literal, str):
        place = string(f'$["{index.literal}"]')
    return let(
        lambda v: (
            f"CASE WHEN {v} IS NULL THEN NULL WHEN schema_of_variant({v}) LIKE '{kind.upper()}%' "
            f"THEN variant_get({v}, {place}, 'variant') ELSE {message} END"
        ),
        source.sql,
    )


def _dot_type(args: Sequence[ArgType]) -> DataType:
    row, name = args[0].type, args[1].literal
    if not isinstance(row, RowType):
        raise refuse(".", args[:1], "a field of a <ROW>")
    for place, field in enumerate(row.fields):
        if name in (field.name, place):
            return field.data_type.with_nullability(row.is_nullable or field.data_type.is_nullable)
    near = difflib.get_close_matches(str(name), row.names, n=1)
    raise ValidationError(
        f"the row has no field {name}",
        do=f"did you mean {near[0]}?" if near else f"it has {', '.join(row.names)}",
    )


def _dot(args: Sequence[Arg], result: DataType) -> str:
    row, name = args[0].type, args[1].literal
    assert isinstance(row, RowType)
    field = row.names[name] if isinstance(name, int) else str(name)
    return f"({args[0].sql}).{quoted_name(field)}"


register(FunctionDef("ITEM", "scalar", _item_type, _item))
register(FunctionDef("DOT", "scalar", _dot_type, _dot))


def _cardinality(args: Sequence[Arg], result: DataType) -> str:
    source = args[0]
    if isinstance(source.type, ArrayType):
        return f"array_size({source.sql})"
    return f"array_size(map_keys({source.sql}))"


scalar("CARDINALITY", (COLLECTION,), of(DataTypes.INT), render=_cardinality)
scalar(
    "ELEMENT",
    (ARRAY,),
    lambda args: _element(args[0]).with_nullability(
        args[0].type.is_nullable or _element(args[0]).is_nullable
    ),
    lambda a: let(
        lambda x: f"if(size({x}) > 1, {fail_text('Array has more than one element.')}, get({x}, 0))", a
    ),
)


def _element(arg: ArgType) -> DataType:
    return arg.type.element_type if isinstance(arg.type, ArrayType) else NullType()


# --- arrays with an element -----------------------------------------------------------------------------


def _check_element(name: str, args: Sequence[ArgType]) -> None:
    element, given = _element(args[0]), args[1].type
    found = common_type([element, given])
    same = found is not None and type(found) is type(element) if not isinstance(given, NullType) else True
    if not same and not (CHARACTER.has(element) and CHARACTER.has(given)):
        raise refuse(name, args, f"{name}(<ARRAY>, <its ELEMENT type>)")


def _search_type(name: str, make: object) -> Result:
    def result(args: Sequence[ArgType]) -> DataType:
        _check_element(name, args)
        if make is DataTypes.BOOLEAN:
            return DataTypes.BOOLEAN(args[0].type.is_nullable)
        return DataTypes.INT(nullable(args))

    return result


def _grown_type(name: str) -> Result:
    """The array with an element more: NULL may be in it when it may be in the element."""

    def result(args: Sequence[ArgType]) -> DataType:
        _check_element(name, args)
        element = _element(args[0])
        wider = element.with_nullability(element.is_nullable or args[1].type.is_nullable)
        return ArrayType(wider, args[0].type.is_nullable)

    return result


def _with_element(text: str) -> Render:
    def render(args: Sequence[Arg], result: DataType) -> str:
        element = _element(ArgType(args[0].type))
        needle = args[1].sql if CHARACTER.has(element) else cast_sql(args[1], element)
        return let(lambda a, e: text.format(a, e), args[0].sql, needle)

    return render


_CONTAINS = (
    "CASE WHEN {0} IS NULL THEN NULL WHEN {1} IS NULL THEN exists({0}, x -> x IS NULL) "
    "ELSE coalesce(array_contains({0}, {1}), FALSE) END"
)
_REMOVE = "if({1} IS NULL, filter({0}, x -> x IS NOT NULL), array_remove({0}, {1}))"
_POSITION = "CAST(array_position({0}, {1}) AS INT)"
scalar(
    "ARRAY_CONTAINS",
    (ARRAY, ANY),
    _search_type("ARRAY_CONTAINS", DataTypes.BOOLEAN),
    render=_with_element(_CONTAINS),
)
scalar(
    "ARRAY_POSITION",
    (ARRAY, ANY),
    _search_type("ARRAY_POSITION", DataTypes.INT),
    render=_with_element(_POSITION),
)
scalar(
    "ARRAY_REMOVE",
    (ARRAY, ANY),
    lambda args: _check_element("ARRAY_REMOVE", args) or args[0].type,  # type: ignore[func-returns-value]
    render=_with_element(_REMOVE),
)
for _name in ("ARRAY_APPEND", "ARRAY_PREPEND"):
    scalar(_name, (ARRAY, ANY), _grown_type(_name), render=_with_element(f"{_name.lower()}({{0}}, {{1}})"))

# --- whole arrays ---------------------------------------------------------------------------------------

scalar("ARRAY_DISTINCT", (ARRAY,), like(0), "array_distinct({0})")
scalar("ARRAY_REVERSE", (ARRAY,), like(0), "reverse({0})")


def _extreme_type(name: str) -> Result:
    def result(args: Sequence[ArgType]) -> DataType:
        _check_ordered(name, args, _UNORDERED)
        return _element(args[0]).nullable()

    return result


def _check_ordered(name: str, args: Sequence[ArgType], without: tuple[type[DataType], ...]) -> None:
    if isinstance(_element(args[0]), without):
        raise refuse(name, args, f"{name}(<ARRAY of COMPARABLE>)", why="its elements have no order")


_UNORDERED = (ArrayType, MapType, MultisetType, RowType)


def _extreme(name: str, sign: str) -> Render:
    """NaN is neither greater nor smaller than anything, so it is only found in front."""

    def render(args: Sequence[Arg], result: DataType) -> str:
        if not isinstance(result, (FloatType, DoubleType)):
            return f"{name.lower()}({args[0].sql})"
        better = f"a IS NULL OR (NOT isnan(a) AND NOT isnan(x) AND x {sign} a)"
        step = f"(a, x) -> CASE WHEN x IS NOT NULL AND ({better}) THEN x ELSE a END"
        return f"aggregate({args[0].sql}, CAST(NULL AS {spark_type(result)}), {step})"

    return render


for _name, _sign in (("ARRAY_MAX", ">"), ("ARRAY_MIN", "<")):
    scalar(_name, (ARRAY,), _extreme_type(_name), render=_extreme(_name, _sign))


def _merged_type(name: str) -> Result:
    def result(args: Sequence[ArgType]) -> DataType:
        found = common_type([a.type for a in args])
        if found is None:
            raise refuse(name, args, f"{name} of collections with a common type")
        return found

    return result


def _merged(function: str) -> Render:
    def render(args: Sequence[Arg], result: DataType) -> str:
        return f"{function}({', '.join(cast_sql(a, result) for a in args)})"

    return render


for _name in ("ARRAY_UNION", "ARRAY_EXCEPT", "ARRAY_INTERSECT"):
    scalar(_name, (ARRAY, ARRAY), _merged_type(_name), render=_merged(_name.lower()), how="spark")
scalar(
    "ARRAY_CONCAT", (ARRAY, rest(ARRAY)), _merged_type("ARRAY_CONCAT"), render=_merged("concat"), how="spark"
)
scalar("MAP_UNION", (MAP, rest(MAP)), _merged_type("MAP_UNION"), render=_merged("map_concat"), how="spark")


def _slice(a: str, start: str, end: str | None = None) -> str:
    def text(a: str, f: str, u: str = "-1") -> str:
        first = f"if({f} < 0, greatest(size({a}) + {f} + 1, 1), greatest({f}, 1))"
        last = f"least(if({u} < 0, size({a}) + {u} + 1, if({u} = 0, 1, {u})), size({a}))"
        known = f"{a} IS NULL OR {f} IS NULL OR {u} IS NULL"
        return f"if({known}, NULL, slice({a}, {first}, greatest({last} - {first} + 1, 0)))"

    return let(text, a, start) if end is None else let(text, a, start, end)


scalar("ARRAY_SLICE", (ARRAY, INTEGER, opt(INTEGER)), like(0), _slice)


def _sort(args: Sequence[Arg], result: DataType) -> str:
    rising = args[1].sql if len(args) > 1 else "TRUE"
    nulls_first = args[2].sql if len(args) > 2 else rising
    up = {True: "sort_array({0}, TRUE)", False: "array_sort({0})"}
    down = {
        True: "concat(filter({0}, x -> x IS NULL), sort_array(filter({0}, x -> x IS NOT NULL), FALSE))",
        False: "sort_array({0}, FALSE)",
    }
    flags = [_flag(a) for a in args[1:]]
    if len(flags) < 1 or (flags[0] is not None and (len(flags) < 2 or flags[1] is not None)):
        first = flags[0] if flags else True
        text = (up if first else down)[flags[1] if len(flags) > 1 else bool(first)]  # type: ignore[index]
        return let(lambda a: text.format(a), args[0].sql)
    return let(
        lambda a, r, n: (
            f"CASE WHEN {r} AND {n} THEN {up[True]} WHEN {r} THEN {up[False]} "
            f"WHEN NOT {r} AND {n} THEN {down[True]} WHEN NOT {r} THEN {down[False]} END".format(a)
        ),
        args[0].sql,
        rising,
        nulls_first,
    )


def _flag(arg: Arg) -> bool | None:
    return arg.literal if isinstance(arg.literal, bool) else None


def _sort_type(args: Sequence[ArgType]) -> DataType:
    _check_ordered("ARRAY_SORT", args, (*_UNORDERED, BooleanType))
    return like(0)(args)


scalar("ARRAY_SORT", (ARRAY, opt(BOOLEAN), opt(BOOLEAN)), _sort_type, render=_sort)


def _join_type(args: Sequence[ArgType]) -> DataType:
    if not CHARACTER.has(_element(args[0])):
        raise refuse("ARRAY_JOIN", args, "ARRAY_JOIN(<ARRAY of CHARACTER>, <CHARACTER>[, <CHARACTER>])")
    return DataTypes.STRING(nullable(args))


scalar(
    "ARRAY_JOIN",
    (ARRAY, CHARACTER, opt(CHARACTER)),
    _join_type,
    lambda a, d, r=None: f"array_join({a}, {d})" if r is None else f"array_join({a}, {d}, {r})",
    how="spark",
)

# --- maps -----------------------------------------------------------------------------------------------


def _map_of(arg: ArgType) -> tuple[DataType, DataType]:
    return (
        (arg.type.key_type, arg.type.value_type)
        if isinstance(arg.type, MapType)
        else (NullType(), NullType())
    )


def _entries_type(args: Sequence[ArgType]) -> DataType:
    key, value = _map_of(args[0])
    return ArrayType(RowType([RowField("key", key), RowField("value", value)]), args[0].type.is_nullable)


def _from_arrays_type(args: Sequence[ArgType]) -> DataType:
    return MapType(_element(args[0]), _element(args[1]), nullable(args))


scalar("MAP_KEYS", (MAP,), lambda a: ArrayType(_map_of(a[0])[0], a[0].type.is_nullable), "map_keys({0})")
scalar("MAP_VALUES", (MAP,), lambda a: ArrayType(_map_of(a[0])[1], a[0].type.is_nullable), "map_values({0})")
scalar("MAP_ENTRIES", (MAP,), _entries_type, "map_entries({0})")
scalar("MAP_FROM_ARRAYS", (ARRAY, ARRAY), _from_arrays_type, "map_from_arrays({0}, {1})")

# --- structured objects ---------------------------------------------------------------------------------


def _object_of_type(args: Sequence[ArgType]) -> DataType:
    if not args or len(args) % 2 == 0:
        raise refuse("OBJECT_OF", args, "OBJECT_OF('class name'[, 'field', value ...])")
    names = [literal_text(a, "OBJECT_OF", "a field name") for a in args[1::2]]
    double = next((n for n in names if names.count(n) > 1), None)
    if double:
        raise ValidationError(f"OBJECT_OF: the field {double} is there twice")
    fields = [RowField(n, a.type) for n, a in zip(names, args[2::2], strict=True)]
    return StructuredType(literal_text(args[0], "OBJECT_OF", "the class name"), fields)


def _object_update_type(args: Sequence[ArgType]) -> DataType:
    source = args[0].type if args else None
    if not isinstance(source, RowType) or len(args) < 3 or len(args) % 2 == 0:
        raise refuse("OBJECT_UPDATE", args, "OBJECT_UPDATE(<STRUCTURED>, 'field', value ...)")
    changed = {
        literal_text(k, "OBJECT_UPDATE", "a field name"): v
        for k, v in zip(args[1::2], args[2::2], strict=True)
    }
    for name in changed:
        if name not in source.names:
            raise ValidationError(
                f"OBJECT_UPDATE: the object has no field {name}",
                do=f"its fields are {', '.join(source.names)}",
            )
    fields = [RowField(f.name, changed[f.name].type if f.name in changed else f.data_type) for f in source]
    return StructuredType(getattr(source, "class_name", ""), fields, source.is_nullable)


def _object_update(args: Sequence[Arg], result: DataType) -> str:
    assert isinstance(result, RowType)
    changed = {k.literal: v.sql for k, v in zip(args[1::2], args[2::2], strict=True)}
    texts = [changed.get(n) or f"({args[0].sql}).{quoted_name(n)}" for n in result.names]
    return f"if(({args[0].sql}) IS NULL, NULL, {struct_text(result.names, texts)})"


register(
    FunctionDef(
        "OBJECT_OF",
        "scalar",
        _object_of_type,
        lambda args, result: struct_text([str(a.literal) for a in args[1::2]], [a.sql for a in args[2::2]]),
    )
)
register(FunctionDef("OBJECT_UPDATE", "scalar", _object_update_type, _object_update))

__all__ = ["struct_text"]

"""Text functions. Spark has most of them; what is written here is where its edge cases are not Flink's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.common.datatypes import (
    MAX_LENGTH,
    CharType,
    DataType,
    DataTypes,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    NumericType,
    TimestampType,
    TimeType,
    VarCharType,
)
from penstock.common.errors import ValidationError
from penstock.sql.functions.common_types import common_type, concat_type
from penstock.sql.functions.registry import Arg, ArgType
from penstock.sql.functions.rules import (
    ANY,
    BINARY,
    CHARACTER,
    INTEGER,
    OCTETS,
    like,
    maybe,
    nullable,
    of,
    opt,
    refuse,
    rest,
    scalar,
)
from penstock.sql.functions.text import fail, let, string, udf
from penstock.sql.functions.value_text import text_of

_STRING, _MAYBE_STRING, _INT, _BOOLEAN = (
    of(DataTypes.STRING),
    maybe(DataTypes.STRING),
    of(DataTypes.INT),
    of(DataTypes.BOOLEAN),
)


def _length(data_type: DataType) -> int:
    return data_type.length if isinstance(data_type, (CharType, VarCharType)) else MAX_LENGTH


def _varchar(index: int, always_nullable: bool = False) -> object:
    def result(args: Sequence[ArgType]) -> DataType:
        return VarCharType(_length(args[index].type), always_nullable or nullable(args))

    return result


# --- size, case, position -------------------------------------------------------------------------------

scalar("CHAR_LENGTH", (CHARACTER,), _INT, "char_length({0})", aliases=["CHARACTER_LENGTH"])
scalar("UPPER", (CHARACTER,), like(0), "upper({0})")
scalar("LOWER", (CHARACTER,), like(0), "lower({0})")
scalar("INITCAP", (CHARACTER,), like(0), lambda s: udf("initcap", s), how="udf")
scalar("REVERSE", (CHARACTER,), _MAYBE_STRING, "reverse({0})")
scalar("REPEAT", (CHARACTER, INTEGER), _STRING, "repeat({0}, CAST({1} AS INT))", how="spark")
scalar("POSITION", (CHARACTER, CHARACTER), _INT, "locate({0}, {1})")
scalar(
    "INSTR",
    (CHARACTER, CHARACTER, opt(INTEGER), opt(INTEGER)),
    _INT,
    lambda s, *rest: f"instr({s}, {rest[0]})" if len(rest) == 1 else udf("instr", s, *rest),
)
scalar(
    "LOCATE",
    (CHARACTER, CHARACTER, opt(INTEGER)),
    _INT,
    lambda sub, s, start="1": (
        f"if({start} IS NULL, NULL, locate({sub}, {s}, if({start} < 1, 1, CAST({start} AS INT))))"
    ),
)
for _name, _param in (("STARTSWITH", "startswith"), ("ENDSWITH", "endswith")):
    scalar(_name, [(CHARACTER, CHARACTER), (BINARY, BINARY)], _BOOLEAN, f"{_param}({{0}}, {{1}})")
scalar(
    "ASCII",
    (CHARACTER,),
    _INT,
    lambda s: let(
        lambda x: (
            f"if({x} = '', 0, CAST(CAST(CAST(conv(hex(substring(CAST({x} AS BINARY), 1, 1)), 16, 10) "
            f"AS INT) AS TINYINT) AS INT))"
        ),
        s,
    ),
)
scalar("CHR", (INTEGER,), _MAYBE_STRING, "chr(CAST({0} AS BIGINT))", how="spark")

# --- pieces ---------------------------------------------------------------------------------------------


def _substring(args: Sequence[Arg], result: DataType) -> str:
    texts = [args[0].sql, *(f"CAST({a.sql} AS INT)" if not a.is_literal else a.sql for a in args[1:])]
    start = args[1].literal

    def cut(s: str, p: str, n: str | None = None) -> str:
        plain = f"substring({s}, {p})" if n is None else f"substring({s}, {p}, {n})"
        whens = f" WHEN {n} < 0 THEN NULL" if n is not None else ""
        if not (isinstance(start, int) and start >= 0):
            whens += f" WHEN {p} < - char_length({s}) THEN ''"
        return f"CASE{whens} ELSE {plain} END" if whens else plain

    return let(cut, *texts)


scalar(
    "SUBSTRING",
    (CHARACTER, INTEGER, opt(INTEGER)),
    _varchar(0, always_nullable=True),  # type: ignore[arg-type]
    render=_substring,
    aliases=["SUBSTR"],
)
for _name in ("LEFT", "RIGHT"):
    scalar(
        _name,
        (CHARACTER, INTEGER),
        _varchar(0, always_nullable=True),  # type: ignore[arg-type]
        f"{_name.lower()}({{0}}, CAST({{1}} AS INT))",
        how="spark",
    )


def _overlay_type(args: Sequence[ArgType]) -> DataType:
    length = min(_length(args[0].type) + _length(args[1].type), MAX_LENGTH)
    return VarCharType(length, nullable(args))


def in_units(text: str) -> str:
    """The text as Java sees it, two bytes for a unit: a sign beyond the BMP has two units."""
    return f"encode({text}, 'UTF-16BE')"


def _by_units(plain: Callable[..., str], wide: Callable[..., str], *texts: str) -> str:
    """`plain` where a character of the texts is a unit, else `wide`, which counts units."""
    short = " AND ".join(f"octet_length({t}) = char_length({t})" for t in texts)
    return f"if({short}, {plain(*texts)}, decode({wide(*map(in_units, texts))}, 'UTF-16BE'))"


def _overlay(s: str, r: str, p: str, n: str | None = None) -> str:
    def text(s: str, r: str, p: str, n: str) -> str:
        known = f"{r} IS NULL OR {p} IS NULL OR {n} IS NULL OR {s} IS NULL"
        plain = _by_units(lambda a, b: placed(a, b, p, n, 1), lambda a, b: placed(a, b, p, n, 2), s, r)
        return f"if({known}, NULL, {plain})"

    def placed(s: str, r: str, p: str, n: str, size: int) -> str:
        length, times = f"octet_length({s})", "" if size == 1 else " * 2"
        # With a length of zero the tail is dropped, too: Flink keeps it only for positive lengths.
        behind = f"({p} + {n} - 1){times}"
        tail = f"if({behind} < {length} AND {n} > 0, substring({s}, {behind} + 1), {s0(s)})"
        inside = f"{p} > 0 AND {p}{times} <= {length}"
        return f"if({inside}, concat(substring({s}, 1, ({p} - 1){times}), {r}, {tail}), {s})"

    def s0(s: str) -> str:
        return f"substring({s}, 1, 0)"

    if n is None:
        units = "octet_length({0}) div 2"
        return let(lambda s, r, p: text(s, r, p, units.format(in_units(r))), s, r, p)
    return let(text, s, r, p, n)


scalar("OVERLAY", (CHARACTER, CHARACTER, INTEGER, opt(INTEGER)), _overlay_type, _overlay)


def _pad(function: str) -> object:
    def padded(s: str, n: str, p: str) -> str:
        made = _by_units(
            lambda a, b: f"{function}({a}, {n}, {b})", lambda a, b: f"{function}({a}, {n} * 2, {b})", s, p
        )
        return f"if({n} < 0 OR {p} = '', NULL, {made})"

    return lambda s, n, p: let(padded, s, n, p)


for _name in ("LPAD", "RPAD"):
    scalar(_name, (CHARACTER, INTEGER, CHARACTER), _STRING, _pad(_name.lower()))  # type: ignore[arg-type]


def _trim(args: Sequence[Arg], result: DataType) -> str:
    if len(args) == 1:
        return f"trim({args[0].sql})"
    where = args[0].literal if isinstance(args[0].literal, str) else "BOTH"
    return f"trim({where.upper()} {args[1].sql} FROM {args[2].sql})"


def _trim_type(args: Sequence[ArgType]) -> DataType:
    used = args[-2:] if len(args) == 3 else args
    return VarCharType(_length(args[-1].type), nullable(used))


scalar("TRIM", [(CHARACTER,), (ANY, CHARACTER, CHARACTER)], _trim_type, render=_trim)
for _name, _where in (("LTRIM", "LEADING"), ("RTRIM", "TRAILING")):
    scalar(
        _name,
        (CHARACTER, opt(CHARACTER)),
        _varchar(0),  # type: ignore[arg-type]
        lambda s, c="' '", w=_where: f"trim({w} {c} FROM {s})",  # type: ignore[misc]
    )
scalar("BTRIM", (CHARACTER, opt(CHARACTER)), _STRING, lambda s, c="' '": f"trim(BOTH {c} FROM {s})")

# --- putting together, replacing ------------------------------------------------------------------------


def _concat_type(args: Sequence[ArgType]) -> DataType:
    return concat_type([a.type for a in args])


scalar("||", [(CHARACTER, CHARACTER)], _concat_type, "concat({0}, {1})")
scalar(
    "CONCAT",
    (CHARACTER, rest(CHARACTER)),
    _STRING,
    lambda *a: f"concat({', '.join(a)})",
    how="spark",
)
scalar(
    "CONCAT_WS",
    (CHARACTER, CHARACTER, rest(CHARACTER)),
    lambda args: DataTypes.STRING(args[0].type.is_nullable),
    lambda *a: f"concat_ws({', '.join(a)})",
    how="spark",
)


def quoted_replacement(sql: str) -> str:
    """A replacement text that a regular expression takes literally."""
    return f"replace(replace({sql}, '\\\\', '\\\\\\\\'), '$', '\\\\$')"


def _replace(args: Sequence[Arg], result: DataType) -> str:
    s, f, r = (a.sql for a in args)
    if isinstance(args[1].literal, str) and args[1].literal:
        return f"if({r} IS NULL, NULL, replace({s}, {f}, {r}))"
    return let(
        lambda s, f, r: (
            f"if({f} = '', regexp_replace({s}, '', {quoted_replacement(r)}), replace({s}, {f}, {r}))"
        ),
        s,
        f,
        r,
    )


scalar("REPLACE", (CHARACTER, CHARACTER, CHARACTER), _STRING, render=_replace)
scalar(
    "TRANSLATE",
    (CHARACTER, CHARACTER, CHARACTER),
    lambda args: DataTypes.STRING(args[0].type.is_nullable),
    "translate({0}, coalesce({1}, ''), coalesce({2}, ''))",
)


def _elt_type(args: Sequence[ArgType]) -> DataType:
    found = common_type([a.type for a in args[1:]])
    if isinstance(args[0].literal, int) and args[0].literal < 0:
        raise refuse("ELT", args, "ELT(<INTEGER>, ...)", why=f"the index {args[0].literal} is negative")
    if found is None:
        raise refuse("ELT", args, "ELT(<INTEGER>, <CHARACTER>, ...)", "ELT(<INTEGER>, <BINARY>, ...)")
    return found.nullable()


scalar(
    "ELT",
    [(INTEGER, CHARACTER, rest(CHARACTER)), (INTEGER, BINARY, rest(BINARY))],
    _elt_type,
    lambda i, *a: f"get(array({', '.join(a)}), CAST({i} AS INT) - 1)",
)


def _printf(args: Sequence[Arg], result: DataType) -> str:
    return udf("printf", args[0].sql, *(_format_argument(a) for a in args[1:]))


def _format_argument(arg: Arg) -> str:
    """Values as Flink hands them to the formatter: dates are numbers of days, decimals are not numbers."""
    if isinstance(arg.type, DateType):
        return f"datediff({arg.sql}, DATE'1970-01-01')"
    if isinstance(arg.type, TimeType):
        return f"CAST(time_to_micros({arg.sql}) div 1000 AS INT)"
    if isinstance(arg.type, (TimestampType, LocalZonedTimestampType)):
        return f"replace(CAST({arg.sql} AS STRING), ' ', 'T')"
    if isinstance(arg.type, DecimalType):
        return text_of(arg.sql, arg.type)
    return arg.sql


scalar("PRINTF", (CHARACTER, rest(ANY)), _MAYBE_STRING, render=_printf, how="udf")

# --- codes ----------------------------------------------------------------------------------------------

_CHARSETS = ("UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "US-ASCII", "ISO-8859-1")


def _check_charset(name: str, args: Sequence[ArgType]) -> None:
    charset = args[1].literal
    if isinstance(charset, str) and charset.upper() not in _CHARSETS:
        raise ValidationError(
            f"{name}: unknown character set {charset}", do="use one of " + ", ".join(_CHARSETS)
        )


def _encode_type(args: Sequence[ArgType]) -> DataType:
    _check_charset("ENCODE", args)
    return DataTypes.BYTES(nullable(args))


def _decode_type(args: Sequence[ArgType]) -> DataType:
    _check_charset("DECODE", args)
    return DataTypes.STRING(nullable(args))


def _from_base64(s: str) -> str:
    message = fail(f"concat({string('illegal base64 text: ')}, {{0}})")
    good = "^[A-Za-z0-9+/]*={0,2}$"
    return let(
        lambda x: (
            f"CASE WHEN {x} IS NULL THEN NULL WHEN {x} RLIKE '{good}' THEN "
            f"CAST(unbase64({x}) AS STRING) ELSE {message.format(x)} END"
        ),
        s,
    )


scalar("TO_BASE64", (OCTETS,), _STRING, "replace(base64(CAST({0} AS BINARY)), '\\r\\n', '')")
scalar("FROM_BASE64", (OCTETS,), _STRING, lambda s: _from_base64(f"CAST({s} AS STRING)"))
scalar("ENCODE", (CHARACTER, CHARACTER), _encode_type, "encode({0}, {1})")
scalar("DECODE", (BINARY, CHARACTER), _decode_type, "decode({0}, {1})")
scalar("URL_ENCODE", (CHARACTER,), _MAYBE_STRING, "url_encode({0})")
scalar("URL_DECODE", (CHARACTER,), _MAYBE_STRING, "try_url_decode({0})")
scalar(
    "PARSE_URL",
    (CHARACTER, CHARACTER, opt(CHARACTER)),
    _MAYBE_STRING,
    lambda *a: udf("parse_url", *a),
    how="udf",
)
scalar("INET_ATON", (CHARACTER,), maybe(DataTypes.BIGINT), lambda s: udf("inet_aton", s), how="udf")
scalar(
    "INET_NTOA",
    (INTEGER,),
    _MAYBE_STRING,
    lambda n: let(
        lambda x: (
            f"if({x} BETWEEN 0 AND 4294967295, concat_ws('.', {x} div 16777216, {x} div 65536 % 256, "
            f"{x} div 256 % 256, {x} % 256), NULL)"
        ),
        f"CAST({n} AS BIGINT)",
    ),
)
scalar("JSON_QUOTE", (CHARACTER,), _STRING, lambda s: udf("json_quote", s), how="udf")
scalar("JSON_UNQUOTE", (CHARACTER,), _STRING, lambda s: udf("json_unquote", s), how="udf")

# --- splitting ------------------------------------------------------------------------------------------


def literal_pattern(sql: str) -> str:
    """A regular expression that matches the text itself."""
    return f"concat('\\\\Q', {sql}, '\\\\E')"


def _split_index(args: Sequence[Arg], result: DataType) -> str:
    s, d, i = (a.sql for a in args)
    if isinstance(args[1].type, NumericType):
        d = f"chr(CAST({d} AS BIGINT))"
    return let(
        lambda s, d, i: (
            f"CASE WHEN {i} < 0 OR {s} = '' THEN NULL WHEN {d} = '' THEN if({i} = 0, {s}, NULL) "
            f"ELSE get(split({s}, {literal_pattern(d)}), CAST({i} AS INT)) END"
        ),
        s,
        d,
        i,
    )


def _split(s: str, d: str) -> str:
    return let(
        lambda s, d: (
            f"CASE WHEN {s} IS NULL OR {d} IS NULL THEN NULL WHEN {s} = '' THEN CAST(array() AS ARRAY<STRING>) "
            f"WHEN {d} = '' THEN split({s}, '') ELSE split({s}, {literal_pattern(d)}) END"
        ),
        s,
        d,
    )


def _str_to_map(s: str, pairs: str = "','", values: str = "'='") -> str:
    def build(s: str, p: str, v: str) -> str:
        kept = f"regexp_replace({s}, concat('(', {p}, ')+$'), '')"
        first = f"if({v} = '', substring(e, 1, 1), split(e, {v}, 2)[0])"
        second = f"if({v} = '', substring(e, 2), get(split(e, {v}, 2), 1))"
        entry = f"named_struct('key', {first}, 'value', {second})"
        made = f"map_from_entries(transform(split({kept}, {p}), e -> {entry}))"
        return f"if({kept} = '', CAST(map() AS MAP<STRING, STRING>), {made})"

    return let(build, s, pairs, values)


scalar(
    "SPLIT_INDEX",
    [(CHARACTER, CHARACTER, INTEGER), (CHARACTER, INTEGER, INTEGER)],
    _MAYBE_STRING,
    render=_split_index,
)
scalar("SPLIT", (CHARACTER, CHARACTER), of(DataTypes.ARRAY, DataTypes.STRING()), _split)
scalar(
    "STR_TO_MAP",
    [(CHARACTER,), (CHARACTER, CHARACTER, CHARACTER)],
    maybe(DataTypes.MAP, DataTypes.STRING(), DataTypes.STRING()),
    _str_to_map,
)

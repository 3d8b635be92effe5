"""What a stream's type is in a table, and a table's in a stream. The answers are real Flink's."""

from __future__ import annotations

import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import ExternalTypeInfo, TypeInformation, Types
from penstock.table.border_types import columns_of, data_type_of, stream_type_of

ATOMIC = [
    (Types.STRING(), "STRING"),
    (Types.BOOLEAN(), "BOOLEAN NOT NULL"),
    (Types.BYTE(), "TINYINT NOT NULL"),
    (Types.SHORT(), "SMALLINT NOT NULL"),
    (Types.INT(), "INT NOT NULL"),
    (Types.LONG(), "BIGINT NOT NULL"),
    (Types.FLOAT(), "FLOAT NOT NULL"),
    (Types.DOUBLE(), "DOUBLE NOT NULL"),
    (Types.BIG_DEC(), "DECIMAL(38, 18)"),
    (Types.INSTANT(), "TIMESTAMP_LTZ(9)"),
    (Types.SQL_DATE(), "DATE"),
    (Types.SQL_TIME(), "TIME(0)"),
    (Types.SQL_TIMESTAMP(), "TIMESTAMP(9)"),
    (Types.LOCAL_DATE(), "DATE"),
    (Types.LOCAL_TIME(), "TIME(9)"),
    (Types.LOCAL_DATE_TIME(), "TIMESTAMP(9)"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "BYTES NOT NULL"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "ARRAY<INT NOT NULL> NOT NULL"),
    (Types.PRIMITIVE_ARRAY(Types.DOUBLE()), "ARRAY<DOUBLE NOT NULL>"),
    (Types.BASIC_ARRAY(Types.INT()), "ARRAY<INT> NOT NULL"),
    (Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), "ARRAY<ROW<`f0` INT>> NOT NULL"),
    (Types.LIST(Types.INT()), "ARRAY<INT NOT NULL> NOT NULL"),
    (Types.MAP(Types.STRING(), Types.INT()), "MAP<STRING, INT> NOT NULL"),
    (Types.MAP(Types.INT(), Types.LONG()), "MAP<INT NOT NULL, BIGINT> NOT NULL"),
    (Types.CHAR(), "RAW"),
    (Types.BIG_INT(), "RAW"),
    (Types.PRIMITIVE_ARRAY(Types.CHAR()), "RAW"),
    (Types.PICKLED_BYTE_ARRAY(), "RAW"),
]


@pytest.mark.parametrize(("type_info", "expected"), ATOMIC, ids=lambda v: str(v))
def test_an_element_that_is_no_record_is_one_column(type_info: TypeInformation, expected: str) -> None:
    columns = columns_of(type_info)
    assert not columns.is_record
    assert _columns(columns.row_type) == [f"`f0` {expected}"]


def test_a_stream_without_a_declared_type_is_one_column_that_sql_cannot_use() -> None:
    assert columns_of(None) == columns_of(Types.PICKLED_BYTE_ARRAY())


def test_fields_of_a_row_are_nullable_columns() -> None:
    nested = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.LIST(Types.STRING())])
    columns = columns_of(Types.ROW_NAMED(["a", "r"], [Types.BOOLEAN(), nested]))
    assert columns.is_record
    assert _columns(columns.row_type) == ["`a` BOOLEAN", "`r` ROW<`x` INT, `y` ARRAY<STRING>>"]


def test_a_row_without_names_has_numbered_columns() -> None:
    assert _columns(columns_of(Types.ROW([Types.STRING(), Types.INT()])).row_type) == [
        "`f0` STRING",
        "`f1` INT",
    ]


def test_fields_of_a_tuple_are_nullable_where_their_type_is() -> None:
    columns = columns_of(Types.TUPLE([Types.STRING(), Types.INT()]))
    assert columns.is_record
    assert _columns(columns.row_type) == ["`f0` STRING", "`f1` INT NOT NULL"]


def test_a_field_that_sql_cannot_use_leaves_the_others_alone() -> None:
    columns = columns_of(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.PICKLED_BYTE_ARRAY()]))
    assert _columns(columns.row_type) == ["`a` INT", "`b` RAW"]


OUT = [
    ("TINYINT", Types.BYTE()),
    ("SMALLINT", Types.SHORT()),
    ("INT NOT NULL", Types.INT()),
    ("BIGINT", Types.LONG()),
    ("FLOAT", Types.FLOAT()),
    ("DOUBLE", Types.DOUBLE()),
    ("DECIMAL(10, 3)", Types.BIG_DEC()),
    ("BOOLEAN", Types.BOOLEAN()),
    ("CHAR(4)", Types.STRING()),
    ("VARCHAR(4)", Types.STRING()),
    ("STRING", Types.STRING()),
    ("BYTES", Types.PRIMITIVE_ARRAY(Types.BYTE())),
    ("DATE", Types.LOCAL_DATE()),
    ("TIME(0)", Types.LOCAL_TIME()),
    ("TIMESTAMP(6)", Types.LOCAL_DATE_TIME()),
    ("TIMESTAMP_LTZ(3)", Types.INSTANT()),
    ("ARRAY<INT NOT NULL>", Types.OBJECT_ARRAY(Types.INT())),
    ("ARRAY<TIMESTAMP_LTZ(3)>", Types.OBJECT_ARRAY(Types.INSTANT())),
    ("MAP<STRING, ARRAY<INT>>", Types.MAP(Types.STRING(), Types.OBJECT_ARRAY(Types.INT()))),
    ("MULTISET<INT>", Types.MAP(Types.INT(), Types.INT())),
    ("ROW<a INT, b STRING>", Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])),
]


@pytest.mark.parametrize(("sql", "expected"), OUT, ids=lambda v: str(v))
def test_a_column_becomes_a_field(sql: str, expected: TypeInformation) -> None:
    stream_type = stream_type_of(RowType([RowField("c", parse_type(sql))]))
    assert stream_type.type_info == Types.ROW_NAMED(["c"], [expected])


REFUSED = [
    ("TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(3)"),
    ("TIMESTAMP_LTZ(9)", "TIMESTAMP_LTZ(3)"),
    ("BINARY(2)", "BYTES"),
    ("VARBINARY(5)", "BYTES"),
    ("INTERVAL DAY TO SECOND", "STRING"),
    ("INTERVAL MONTH", "STRING"),
    ("ARRAY<TIMESTAMP_LTZ(6)>", "TIMESTAMP_LTZ(3)"),
    ("ROW<a MAP<STRING, BINARY(1)>>", "BYTES"),
]


@pytest.mark.parametrize(("sql", "advice"), REFUSED)
def test_a_type_that_functions_do_not_take_is_refused_by_name(sql: str, advice: str) -> None:
    with pytest.raises(TypeMismatchError, match="column 'c' is") as refused:
        stream_type_of(RowType([RowField("a", DataTypes.INT()), RowField("c", parse_type(sql))]), where="q")
    assert refused.value.where == "q"
    assert advice in (refused.value.do or "")


def test_the_error_names_the_type_inside_another() -> None:
    with pytest.raises(TypeMismatchError, match=r"is ARRAY<BINARY\(2\)>, which holds BINARY\(2\)"):
        stream_type_of(RowType([RowField("c", parse_type("ARRAY<BINARY(2)>"))]))


def test_what_has_no_declared_type_does_not_leave_a_query() -> None:
    with pytest.raises(TypeMismatchError, match="RAW") as refused:
        stream_type_of(columns_of(None).row_type)
    assert "declare the type" in (refused.value.do or "")


def test_a_stream_that_goes_back_has_the_exact_columns_again() -> None:
    row_type = RowType(
        [
            RowField("price", DataTypes.DECIMAL(10, 2, False)),
            RowField("at", DataTypes.TIMESTAMP(3)),
            RowField("code", DataTypes.CHAR(3)),
        ],
        nullable=False,
    )
    assert columns_of(stream_type_of(row_type)).row_type == row_type


def test_a_type_that_only_wraps_another_is_that_one() -> None:
    assert data_type_of(ExternalTypeInfo(Types.INT())) == DataTypes.INT(False)


def _columns(row_type: RowType) -> list[str]:
    return [f"`{f.name}` {f.data_type.as_summary()}" for f in row_type]

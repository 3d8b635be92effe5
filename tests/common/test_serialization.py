from __future__ import annotations

import io
import pickle

import pytest

from penstock.common import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    Row,
    SerializationSchema,
    SimpleStringSchema,
    Types,
)
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.io import InputFormat
from penstock.common.serialization import RowFieldExtractorSchema, SimpleStringEncoder


def test_strings_go_through_a_charset():
    latin = SimpleStringSchema("ISO-8859-1")
    assert latin.serialize("é") == b"\xe9" and latin.deserialize(b"\xe9") == "é"
    assert SimpleStringSchema().deserialize(b"\xe9") == "�"
    assert SimpleStringSchema().get_produced_type() == Types.STRING()
    with pytest.raises(TypeMismatchError, match="writes strings"):
        latin.serialize(5)
    with pytest.raises(ValidationError, match="unknown charset"):
        SimpleStringSchema("klingon")


def test_bytes_stay_as_they_are():
    schema = ByteArraySchema()
    assert schema.deserialize(schema.serialize(bytearray(b"\x00\xff"))) == b"\x00\xff"
    with pytest.raises(TypeMismatchError):
        schema.serialize("text")


def test_one_field_of_a_row_may_be_the_key():
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row("a", b"key")) == b"key"
    for wrong in (Row("a", "text"), Row(b"only one"), 5):
        with pytest.raises(TypeMismatchError):
            schema.serialize(wrong)
    with pytest.raises(ValidationError):
        RowFieldExtractorSchema(-1)


def test_a_message_may_hold_no_record():
    class Evens(DeserializationSchema):
        def deserialize(self, message: bytes) -> int | None:
            return int(message) if int(message) % 2 == 0 else None

    assert [list(Evens().deserialize_all(m)) for m in (b"1", b"2")] == [[], [2]]


def test_a_schema_that_says_nothing_is_an_error():
    with pytest.raises(NotImplementedError, match="SerializationSchema"):
        SerializationSchema().serialize(1)


def test_the_string_encoder_writes_lines_as_flink_prints():
    stream = io.BytesIO()
    plain = pickle.loads(pickle.dumps(Encoder.simple_string_encoder()))
    plain.encode("é", stream)
    typed = SimpleStringEncoder("UTF-8", Types.TUPLE([Types.INT(), Types.BOOLEAN()]))
    typed.encode((1, True), stream)
    assert stream.getvalue().decode() == "é\n(1,true)\n"


def test_java_input_formats_are_not_supported():
    with pytest.raises(Exception, match="not supported: InputFormat"):
        InputFormat(object())

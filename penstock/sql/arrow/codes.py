"""Digests, number systems and encodings of text."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from penstock.common.datatypes import CharType, VarCharType
from penstock.sql.arrow import text_functions as python
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.text import fixed, octets_node, python_call
from penstock.sql.arrow.values import per_value
from penstock.sql.plan.rex import Call


def _build_digest(algorithm: str, call: Call, compiler: Compiler) -> Node:
    """MD5 and its kin of text or bytes, in lower-case hexadecimal.

    >>> python.digest("md5", "abc")
    '900150983cd24fb0d6963f7d28e17f72'
    """
    kernel = partial(per_value, partial(python.digest, algorithm), pa.string())
    return apply(kernel, pa.string(), octets_node(call.args[0], compiler))


def build_sha2(call: Call, compiler: Compiler) -> Node:
    length = fixed(compiler.node(call.args[1]))
    if length not in (224, 256, 384, 512):
        raise NoArrowForm("SHA2 of a length that is no constant")
    return _build_digest(f"sha{length}", call, compiler)


def build_hex(call: Call, compiler: Compiler) -> Node:
    is_text = isinstance(call.args[0].type, (CharType, VarCharType))
    builder = python_call(python.hexadecimal_text, "s") if is_text else python_call(python.hexadecimal, "l")
    return builder(call, compiler)


register("MD5", partial(_build_digest, "md5"))
for _bits in (1, 224, 256, 384, 512):
    register(f"SHA{_bits}", partial(_build_digest, f"sha{_bits}"))
register("SHA2", build_sha2)
register("HEX", build_hex)
register("BIN", python_call(python.binary, "l"))
register("INET_NTOA", python_call(python.dotted, "l"))
register("TO_BASE64", python_call(python.to_base64, "o"))
register("URL_ENCODE", python_call(python.url_encode, "s"))

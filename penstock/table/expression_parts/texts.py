"""Text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expression_parts.base import Operand, make, node_of
from penstock.table.expression_parts.nodes import Apply

if TYPE_CHECKING:
    from penstock.table.expression import Expression


class Texts(Operand):
    """What can be done with text."""

    def concat(self, other: Any) -> Expression:
        """This text and another one."""
        return self._call("concat", other)

    def starts_with(self, start_expr: Any) -> Expression:
        """Whether the text begins with another."""
        return self._call("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Expression:
        """Whether the text ends with another."""
        return self._call("ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Expression:
        """The part from a position (from 1) on, of a length or to the end."""
        return self._call("substring", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Expression:
        """The same as `substring`."""
        return self._call("substr", begin_index, length)

    def trim_leading(self, character: Any = None) -> Expression:
        """Without a character, or blanks, at the beginning."""
        return self._trim(True, False, character)

    def trim_trailing(self, character: Any = None) -> Expression:
        """Without a character, or blanks, at the end."""
        return self._trim(False, True, character)

    def trim(self, character: Any = None) -> Expression:
        """Without a character, or blanks, at both ends."""
        return self._trim(True, True, character)

    def _trim(self, leading: bool, trailing: bool, character: Any) -> Expression:
        """Flink's one function behind the three."""
        return make(
            Apply(
                "trim",
                (
                    *(node_of(x) for x in (leading, trailing, " " if character is None else character)),
                    self._node,
                ),
            )
        )

    def replace(self, search: Any = None, replacement: Any = None) -> Expression:
        """With every occurrence of a text replaced."""
        return self._call("replace", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Expression:
        """With characters replaced one by one."""
        return self._call("TRANSLATE", from_str, to_str)

    @property
    def char_length(self) -> Expression:
        """The number of characters."""
        return self._call("charLength")

    @property
    def upper_case(self) -> Expression:
        """In capital letters."""
        return self._call("upper")

    @property
    def lower_case(self) -> Expression:
        """In small letters."""
        return self._call("lower")

    @property
    def init_cap(self) -> Expression:
        """With the first letter of each word capital."""
        return self._call("initCap")

    def like(self, pattern: Any = None, escape: Any = None) -> Expression:
        """Whether the text has the form of a pattern with % and _."""
        return self._call("LIKE", pattern, escape)

    def similar(self, pattern: Any = None) -> Expression:
        """Whether it has the form of an SQL regular expression."""
        return self._call("similar", pattern)

    def position(self, haystack: Any = None) -> Expression:
        """Where this text begins in another, from 1; 0 if it does not."""
        return self._call("position", haystack)

    def lpad(self, length: Any, pad: Any) -> Expression:
        """Filled up or cut at the left to a length."""
        return self._call("lpad", length, pad)

    def rpad(self, length: Any, pad: Any) -> Expression:
        """Filled up or cut at the right to a length."""
        return self._call("rpad", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression:
        """With a part replaced by another text."""
        return self._call("overlay", new_string, starting, length)

    def regexp(self, regex: Any) -> Expression:
        """Whether a Java regular expression is found in the text."""
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Expression:
        """How often it is found."""
        return self._call("REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression:
        """With everything it finds replaced."""
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression:
        """What a group of it matches."""
        return self._call("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression:
        """What a group of it matches, all occurrences."""
        return self._call("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Expression:
        """Where it is found first, from 1."""
        return self._call("REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Expression:
        """What it finds first."""
        return self._call("REGEXP_SUBSTR", regex)

    @property
    def from_base64(self) -> Expression:
        """The text that base 64 stands for."""
        return self._call("fromBase64")

    @property
    def to_base64(self) -> Expression:
        """The text in base 64."""
        return self._call("toBase64")

    @property
    def ascii(self) -> Expression:
        """The number of the first character."""
        return self._call("ascii")

    @property
    def chr(self) -> Expression:
        """The character of a number."""
        return self._call("chr")

    def decode(self, charset: Any) -> Expression:
        """Bytes as text."""
        return self._call("decode", charset)

    def encode(self, charset: Any) -> Expression:
        """Text as bytes."""
        return self._call("encode", charset)

    def left(self, length: Any) -> Expression:
        """The first characters."""
        return self._call("left", length)

    def right(self, length: Any) -> Expression:
        """The last characters."""
        return self._call("right", length)

    def instr(self, s: Any) -> Expression:
        """Where a text is found in this, from 1."""
        return self._call("instr", s)

    def locate(self, s: Any, pos: Any = None) -> Expression:
        """Where this is found in another text, from a position on."""
        return self._call("locate", s, pos)

    def url_decode(self) -> Expression:
        """Text that was encoded for a URL."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Expression:
        """Text as part of a URL."""
        return self._call("URL_ENCODE")

    def inet_aton(self) -> Expression:
        """An IPv4 address as a number."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Expression:
        """A number as an IPv4 address."""
        return self._call("INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression:
        """A part of a URL."""
        return self._call("parseUrl", part_to_extract, key)

    def printf(self, *obj: Any) -> Expression:
        """Values in the places of a Java format."""
        return self._call("PRINTF", *obj)

    def ltrim(self, trim_str: Any = None) -> Expression:
        """Without blanks, or certain characters, at the left."""
        return self._call("ltrim", trim_str)

    def rtrim(self, trim_str: Any = None) -> Expression:
        """Without blanks, or certain characters, at the right."""
        return self._call("rtrim", trim_str)

    def btrim(self, trim_str: Any = None) -> Expression:
        """Without blanks, or certain characters, at both ends."""
        return self._call("BTRIM", trim_str)

    def repeat(self, n: Any) -> Expression:
        """The text so many times."""
        return self._call("repeat", n)

    @property
    def reverse(self) -> Expression:
        """The characters from last to first."""
        return self._call("reverse")

    def split_index(self, separator: Any, index: Any) -> Expression:
        """One of the parts between separators, from 0."""
        return self._call("splitIndex", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Expression:
        """A map of `key=value` pairs."""
        return (
            self._call("strToMap")
            if list_delimiter is None or key_value_delimiter is None
            else self._call("strToMap", list_delimiter, key_value_delimiter)
        )

    def elt(self, expr: Any, *exprs: Any) -> Expression:
        """The argument that this number counts to."""
        return self._call("ELT", expr, *exprs)

    def split(self, delimiter: Any) -> Expression:
        """The parts between delimiters, as an array."""
        return self._call("SPLIT", delimiter)

    @property
    def md5(self) -> Expression:
        """The MD5 hash in hexadecimal digits."""
        return self._call("md5")

    @property
    def sha1(self) -> Expression:
        """The SHA-1 hash."""
        return self._call("sha1")

    @property
    def sha224(self) -> Expression:
        """The SHA-224 hash."""
        return self._call("sha224")

    @property
    def sha256(self) -> Expression:
        """The SHA-256 hash."""
        return self._call("sha256")

    @property
    def sha384(self) -> Expression:
        """The SHA-384 hash."""
        return self._call("sha384")

    @property
    def sha512(self) -> Expression:
        """The SHA-512 hash."""
        return self._call("sha512")

    def sha2(self, hash_length: Any) -> Expression:
        """The SHA-2 hash of a length in bits."""
        return self._call("sha2", hash_length)

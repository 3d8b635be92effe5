"""Trees of sqlglot become typed expressions.

One method per syntax node, found through `_BINDERS`. Every operator and keyword form becomes a `Call` of the
function registry, which checks the arguments and knows the result type; so there is no type rule here but for
literals. Aggregates become `AggCall` and window functions `OverCall`; `select.py` puts them into nodes of
their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import BooleanType, DataType, DataTypes, RowType
from penstock.common.errors import NotSupportedError, PenstockError, ValidationError
from penstock.common.near_names import did_you_mean
from penstock.sql.binder import literals
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.scope import Scope
from penstock.sql.binder.untyped_nulls import refuses_null
from penstock.sql.dialect import nodes
from penstock.sql.functions import FUNCTIONS, NO_LITERAL, ArgType, FunctionDef
from penstock.sql.no_paren_calls import NO_PAREN_CALLS
from penstock.sql.plan.algebra import Filter
from penstock.sql.plan.plan_rexes import as_outer
from penstock.sql.plan.rex import (
    AggCall,
    Call,
    Const,
    Frame,
    InputRef,
    OverCall,
    Rex,
    SortKey,
    SubqueryRex,
    TypeRef,
    UdfCall,
    walk,
)
from penstock.sql.user_functions import UserFunction, find_user_function

if TYPE_CHECKING:
    from penstock.sql.binder.query import QueryBinder

_JSON_BUILDERS = frozenset({"JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECTAGG", "JSON_ARRAYAGG"})
RANKING = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD"})


def arg_type(rex: Rex) -> ArgType:
    """What the registry may know of an argument."""
    return ArgType(rex.type, rex.value if isinstance(rex, Const) else NO_LITERAL)


class ExpressionBinder:
    """Binds expressions over one scope.

    Args:
        aggregates: Whether aggregate functions may stand here.
        windows: Named windows of the WINDOW clause.
    """

    def __init__(
        self,
        ctx: BindContext,
        scope: Scope,
        queries: QueryBinder,
        *,
        aggregates: bool = False,
        over: bool = False,
        place: str = "this clause",
        windows: dict[str, exp.Window] | None = None,
    ) -> None:
        self._ctx = ctx
        self._scope = scope
        self._queries = queries
        self._aggregates = aggregates
        self._over = over
        self._place = place
        self._windows = windows or {}
        self._inside_aggregate = False

    def bind(self, node: Any) -> Rex:
        """The typed expression of a tree."""
        method = _BINDERS.get(type(node))
        if method is None:
            raise self._ctx.error(f"this kind of expression is not understood: {node.key}", node)
        return method(self, node)

    def condition(self, node: Any) -> Rex:
        """An expression that must be BOOLEAN."""
        rex = self.bind(node)
        if isinstance(rex, Const) and rex.value is None:
            return self.call("CAST", (rex, TypeRef(DataTypes.BOOLEAN())), node)
        if not isinstance(rex.type, BooleanType):
            raise self._ctx.error(
                f"{self._place} must be a condition, but its type is {rex.type.as_summary()}", node
            )
        return rex

    def call(self, name: str, args: tuple[Rex, ...], node: Any = None) -> Rex:
        """A call of a registered function; the registry checks it."""
        definition = FUNCTIONS.get(name)
        if definition is None:
            raise NotSupportedError(f"function {name}", "it is not in the function registry yet")
        return Call(self._infer(definition, args, node), name, args)

    def _infer(self, definition: FunctionDef, args: tuple[Rex, ...], node: Any) -> DataType:
        if refuses_null(definition.name, args):
            raise self._ctx.error(
                f"illegal use of NULL in {definition.name}: its type is not known",
                node,
                do="CAST it to a type",
            )
        try:
            return definition.infer([arg_type(a) for a in args])
        except PenstockError as error:
            raise self._ctx.wrap(error, node) from None

    # -- names and literals ----------------------------------------------------------------------------

    def _column(self, node: exp.Column) -> Rex:
        parts = [p for p in node.parts if isinstance(p, exp.Identifier)]
        if isinstance(node.this, exp.Star):
            raise self._ctx.error("'*' cannot stand here", node)
        if len(parts) == 1 and not parts[0].args.get("quoted") and parts[0].name.upper() in NO_PAREN_CALLS:
            return self._named_call(parts[0].name, [], node)
        if (
            len(parts) == 1
            and parts[0].name.upper() == "PI"
            and "PI" not in map(str.upper, self._scope.column_names())
        ):
            return self._named_call("PI", [], node)
        rex, rest = self._scope.resolve(parts, self._ctx)
        return self._fields_of(rex, rest, node)

    def _fields_of(self, rex: Rex, rest: list[exp.Identifier], node: Any) -> Rex:
        for part in rest:
            if not isinstance(rex.type, RowType):
                raise self._ctx.error(
                    f"'{part.name}' cannot be taken from a value of type {rex.type.as_summary()}", part
                )
            if part.name not in rex.type.field_names():
                hint = did_you_mean(part.name, rex.type.field_names())
                raise self._ctx.error(f"the row has no field '{part.name}'", part, do=hint)
            rex = self.call("DOT", (rex, literals.text(part.name)), node)
        return rex

    def _dot(self, node: exp.Dot) -> Rex:
        if isinstance(node.expression, exp.Anonymous):
            return self._function(node.expression, path=[p.name for p in _dot_parts(node.this)])
        if isinstance(node.expression, exp.Star):
            raise self._ctx.error("'*' cannot stand here", node)
        return self._fields_of(self.bind(node.this), [node.expression], node)

    def _guarded(self, make: Callable[[], Rex], node: Any) -> Rex:
        try:
            return make()
        except PenstockError as error:
            raise self._ctx.wrap(error, node) from None

    def _literal(self, node: exp.Literal) -> Rex:
        return self._guarded(lambda: literals.from_sqlglot(node), node)

    def _typed(self, node: nodes.TypedLiteral) -> Rex:
        return self._guarded(lambda: literals.typed(node), node)

    def _interval(self, node: nodes.IntervalLiteral) -> Rex:
        return self._guarded(lambda: literals.interval(node), node)

    def _neg(self, node: exp.Neg) -> Rex:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return self._guarded(lambda: literals.number("-" + inner.this), node)
        return self.call("-", (self.bind(inner),), node)

    # -- operators -------------------------------------------------------------------------------------

    def _binary(self, node: exp.Binary) -> Rex:
        if isinstance(node.expression, (exp.Any, exp.All)):
            return self._quantified(node)
        return self.call(_OPERATORS[type(node)], (self.bind(node.this), self.bind(node.expression)), node)

    def _quantified(self, node: exp.Binary) -> Rex:
        """x = ANY (q) is IN; `x > ALL (q)` is NOT (x <= ANY (q)), and ANY counts the rows that agree."""
        operator = _OPERATORS[type(node)]
        query = node.expression.this
        every = isinstance(node.expression, exp.All)
        left = self.bind(node.this)
        if (operator, every) in (("=", False), ("<>", True)):
            return self._in_query([left], query, every, node)
        if every:
            operator = _OPPOSITES[operator]
        plan = self._queries.bind(query, self._scope)
        if len(plan.fields) != 1:
            raise self._ctx.error("ANY and ALL take a query of one column", node)
        column = InputRef(plan.fields[0].type, 0)
        test = self.call(operator, (as_outer(left), column), node)
        unknown = self.call("IS UNKNOWN", (test,), node)
        found, maybe = (
            SubqueryRex(DataTypes.BOOLEAN(False), "exists", Filter(plan.fields, plan, condition))
            for condition in (test, unknown)
        )
        null = self.call("CAST", (literals.null(), TypeRef(DataTypes.BOOLEAN())), node)
        parts = (found, literals.boolean(True), maybe, null, literals.boolean(False))
        result = self.call("CASE", parts, node)
        return self.call("NOT", (result,), node) if every else result

    def _connector(self, node: exp.Connector) -> Rex:
        name = "AND" if isinstance(node, exp.And) else "OR"
        items = [self._boolean(part) for part in _flatten(node, type(node))]
        return self.call(name, tuple(items), node)

    def _boolean(self, node: Any) -> Rex:
        return self.bind(node)

    def _not(self, node: exp.Not) -> Rex:
        inner = node.this
        negated = _NEGATED.get(type(inner))
        if negated is not None:
            return negated(self, inner)
        return self.call("NOT", (self.bind(inner),), node)

    def _is(self, node: exp.Is, negated: bool = False) -> Rex:
        word = "IS NOT " if negated else "IS "
        right = node.expression
        if isinstance(right, exp.Not):
            return self._is(exp.Is(this=node.this, expression=right.this), not negated)
        args: tuple[Rex, ...] = (self.bind(node.this),)
        if isinstance(right, exp.Null):
            return self.call(word + "NULL", args, node)
        if isinstance(right, exp.Boolean):
            return self.call(word + ("TRUE" if right.this else "FALSE"), args, node)
        kind, _, form = str(right.this).partition(" ")
        if kind == "JSON":
            extra = (literals.text(form),) if form else ()
            return self.call(word + "JSON", (*args, *extra), node)
        return self.call(word + "UNKNOWN", args, node)

    def _between(self, node: exp.Between, negated: bool = False) -> Rex:
        name = ("NOT " if negated else "") + "BETWEEN" + (" SYMMETRIC" if node.args.get("symmetric") else "")
        return self.call(name, tuple(self.bind(node.args[k]) for k in ("this", "low", "high")), node)

    def _like(self, node: Any, negated: bool = False) -> Rex:
        escape: tuple[Rex, ...] = ()
        if isinstance(node, exp.Escape):
            escape = (self.bind(node.expression),)
            node = node.this
        if node.args.get("negate"):  # sqlglot's own mark of NOT LIKE
            negated = not negated
        name = "SIMILAR TO" if isinstance(node, exp.SimilarTo) else "LIKE"
        args = (self.bind(node.this), self.bind(node.expression), *escape)
        return self.call(("NOT " if negated else "") + name, args, node)

    def _escape(self, node: exp.Escape, negated: bool = False) -> Rex:
        if isinstance(node.this, exp.Not):
            return self._like(exp.Escape(this=node.this.this, expression=node.expression), not negated)
        return self._like(node, negated)

    def _in(self, node: exp.In, negated: bool = False) -> Rex:
        query = node.args.get("query")
        left = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
        items = left.expressions if isinstance(left, exp.Tuple) else [left]
        if query is not None:
            return self._in_query([self.bind(i) for i in items], query, negated, node)
        name = "NOT IN" if negated else "IN"
        if isinstance(left, exp.Tuple):
            rows = tuple(self._tuple(e) for e in node.expressions)
            return self.call(name, (self._tuple(left), *rows), node)
        return self.call(name, (self.bind(left), *(self.bind(e) for e in node.expressions)), node)

    def _in_query(self, left: list[Rex], query: Any, negated: bool, node: Any) -> Rex:
        plan = self._queries.bind(query, self._scope)
        if len(plan.fields) != len(left):
            raise self._ctx.error(
                f"IN compares {len(left)} values with a query of {len(plan.fields)} columns", node
            )
        left, plan = self._queries.align_in(left, plan, node)
        nullable = any(r.type.is_nullable for r in left) or any(f.type.is_nullable for f in plan.fields)
        return SubqueryRex(DataTypes.BOOLEAN(nullable), "in", plan, tuple(left), negated)

    def _exists(self, node: exp.Exists, negated: bool = False) -> Rex:
        plan = self._queries.bind(node.this, self._scope)
        return SubqueryRex(DataTypes.BOOLEAN(False), "exists", plan, (), negated)

    def _subquery(self, node: exp.Subquery) -> Rex:
        plan = self._queries.bind(node, self._scope)
        if len(plan.fields) != 1:
            raise self._ctx.error(f"a scalar subquery has one column, this one has {len(plan.fields)}", node)
        return SubqueryRex(plan.fields[0].type.nullable(), "scalar", plan)

    def _tuple(self, node: Any) -> Rex:
        return self.call("ROW", tuple(self.bind(e) for e in node.expressions), node)

    def _case(self, node: exp.Case) -> Rex:
        operand = None if node.this is None else self.bind(node.this)
        args: list[Rex] = []
        for branch in node.args["ifs"]:
            test = self.bind(branch.this)
            args.append(test if operand is None else self.call("=", (operand, test), branch))
            args.append(self.bind(branch.args["true"]))
        default = node.args.get("default")
        args.append(literals.null() if default is None else self.bind(default))
        return self.call("CASE", tuple(args), node)

    def _cast(self, node: nodes.FlinkCast) -> Rex:
        try:
            target = TypeRef(parse_type(node.args["to"], in_sql=True))
        except ValidationError as error:
            raise self._ctx.wrap(error, node) from None
        return self.call(
            "TRY_CAST" if node.args.get("safe") else "CAST", (self.bind(node.this), target), node
        )

    def _bracket(self, node: exp.Bracket) -> Rex:
        return self.call("ITEM", (self.bind(node.this), self.bind(node.expressions[0])), node)

    # -- functions -------------------------------------------------------------------------------------

    def _function(self, node: exp.Anonymous, path: list[str] | None = None) -> Rex:
        name = node.this if isinstance(node.this, str) else node.this.name
        if path:
            name = ".".join([*path, name])
        return self._named_call(name, node.expressions, node)

    def _named_call(self, name: str, arguments: list[Any], node: Any) -> Rex:
        user = find_user_function(self._ctx.catalogs, name)
        if user is not None:
            return self._user_call(name, user, arguments, node)
        from penstock.sql.binder.group_windows import bind_group_window, is_auxiliary, is_group_window

        if is_group_window(name.upper()) or is_auxiliary(name.upper()):
            return bind_group_window(name.upper(), tuple(self.bind(a) for a in arguments))
        if name.upper() in ("CURRENT_DATABASE", "CURRENT_CATALOG"):
            current = self._ctx.catalogs
            value = current.current_database if name.upper().endswith("BASE") else current.current_catalog
            return Const(DataTypes.STRING(False), value or "")
        definition = FUNCTIONS.get(name.upper())
        if definition is None:
            hint = did_you_mean(name.upper(), [n for n in FUNCTIONS if n[0].isalpha() and " " not in n])
            raise self._ctx.error(f"no function {name} with these arguments exists", node, do=hint)
        if name.upper() == "JSON" and not _in_json_builder(node):
            raise self._ctx.error("JSON() can only stand inside JSON_OBJECT() or JSON_ARRAY()", node)
        if definition.kind == "aggregate":
            return self._aggregate(definition, name.upper(), arguments, node)
        if definition.kind == "window":
            raise self._ctx.error(f"{name.upper()} needs an OVER clause", node)
        args = tuple(self.bind(_positional(a)) for a in arguments)
        return Call(self._infer(definition, args, node), name.upper(), args)

    def _overlaps(self, node: exp.Overlaps) -> Rex:
        pairs = [*node.this.expressions, *node.expression.expressions]
        return self.call("OVERLAPS", tuple(self.bind(p) for p in pairs), node)

    def _user_call(self, name: str, user: UserFunction, arguments: list[Any], node: Any) -> Rex:
        if user.kind == "aggregate":
            call = self._aggregate(user_aggregate(user), name, arguments, node)
            return replace(call, args=self._fitting(user, call.args, node), function=user)
        if user.kind != "scalar":
            raise self._ctx.error(f"{name} is a {user.kind} function", node, do="call it in the FROM clause")
        args = self._fitting(user, tuple(self.bind(a) for a in arguments), node)
        return UdfCall(user.result_type([a.type for a in args]), name, user, args)

    def _fitting(self, user: UserFunction, args: tuple[Rex, ...], node: Any) -> tuple[Rex, ...]:
        try:
            return user.arguments(args)
        except PenstockError as error:
            raise self._ctx.wrap(error, node) from None

    def _aggregate(self, definition: FunctionDef, name: str, arguments: list[Any], node: Any) -> AggCall:
        if not self._aggregates:
            raise self._ctx.error(f"aggregate function {name} cannot stand in {self._place}", node)
        if self._inside_aggregate:
            raise self._ctx.error("aggregate functions cannot be nested", node)
        items, distinct, order = self._unpack(arguments)
        self._inside_aggregate = True
        try:
            args, keys, ignore = self._aggregate_arguments(items, order)
        finally:
            self._inside_aggregate = False
        if name == "COUNT" and len(args) > 1:
            raise self._ctx.error("COUNT takes one argument", node, do="count a ROW(a, b) or use one column")
        if ignore:
            args = (*args, literals.text("IGNORE NULLS"))
        return AggCall(self._infer(definition, args, node), definition.name, args, distinct, None, keys)

    def _unpack(self, arguments: list[Any]) -> tuple[list[Any], bool, Any]:
        """Takes DISTINCT and ORDER BY off the arguments."""
        items, distinct, order = list(arguments), False, None
        if items and isinstance(items[-1], exp.Order):
            order = items.pop()
            items.append(order.this)
        if items and isinstance(items[0], exp.Distinct):
            distinct = True
            items = list(items[0].expressions) + items[1:]
            if items and isinstance(items[-1], exp.Order):
                order = items.pop()
                items.append(order.this)
        return [i for i in items if not isinstance(i, exp.Star)], distinct, order

    def _aggregate_arguments(
        self, items: list[Any], order: Any
    ) -> tuple[tuple[Rex, ...], tuple[SortKey, ...], bool]:
        ignore, plain = False, []
        for item in items:
            if isinstance(item, (exp.IgnoreNulls, exp.RespectNulls)):
                ignore = ignore or isinstance(item, exp.IgnoreNulls)
                item = item.this
            plain.append(self.bind(item))
        keys = tuple(self.sort_key(o) for o in order.expressions) if order is not None else ()
        return tuple(plain), keys, ignore

    def _filter(self, node: exp.Filter) -> Rex:
        call = self.bind(node.this)
        if not isinstance(call, AggCall):
            raise self._ctx.error("FILTER belongs to an aggregate function", node)
        self._inside_aggregate = True
        try:
            condition = self.condition(node.expression.this)
        finally:
            self._inside_aggregate = False
        return replace(call, filter=condition)

    def _within_group(self, node: exp.WithinGroup) -> Rex:
        call = self.bind(node.this)
        if not isinstance(call, AggCall):
            raise self._ctx.error("WITHIN GROUP belongs to an aggregate function", node)
        keys = tuple(self.sort_key(o) for o in node.expression.expressions)
        return replace(call, order=keys)

    def sort_key(self, node: exp.Ordered) -> SortKey:
        descending = bool(node.args.get("desc"))
        return SortKey(self.bind(node.this), descending, bool(node.args.get("nulls_first")))

    # -- OVER ------------------------------------------------------------------------------------------

    def _window(self, node: exp.Window) -> Rex:
        if not self._over:
            raise self._ctx.error(f"an OVER clause cannot stand in {self._place}", node)
        definition, args, distinct, user = self._over_function(node.this)
        partition, order, spec = self._window_parts(node)
        keys = tuple(self.sort_key(o) for o in order.expressions) if order is not None else ()
        name = definition.name
        if name in RANKING and not keys:
            raise self._ctx.error(f"{name} needs ORDER BY in its OVER clause", node)
        if distinct and not self._ctx.streaming:
            raise self._ctx.error("DISTINCT in an OVER aggregate is not possible in batch mode", node)
        data_type = self._infer(definition, args, node)
        parts = tuple(self.bind(p) for p in partition)
        frame = self._frame(spec) if spec is not None else None
        return OverCall(data_type, name, args, parts, keys, frame, distinct, None, user)

    def _over_function(self, node: Any) -> tuple[FunctionDef, tuple[Rex, ...], bool, UserFunction | None]:
        if isinstance(node, exp.Filter):
            raise self._ctx.error("FILTER cannot stand before OVER", node)
        ignore = isinstance(node, exp.IgnoreNulls)
        if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)):
            node = node.this
        name = node.this.upper() if isinstance(node, exp.Anonymous) and isinstance(node.this, str) else ""
        user = find_user_function(self._ctx.catalogs, name) if name else None
        definition = FUNCTIONS.get(name) if user is None else user_aggregate(user)
        if definition is None or definition.kind not in ("aggregate", "window"):
            raise self._ctx.error(f"{name or 'this'} is not a function that takes OVER", node)
        items, distinct, order = self._unpack(node.expressions)
        args, _, inner_ignore = self._aggregate_arguments(items, order)
        if any(isinstance(r, OverCall) for a in args for r in walk(a)):
            raise self._ctx.error("OVER cannot be nested", node)
        if ignore or inner_ignore:
            args = (*args, literals.text("IGNORE NULLS"))
        return definition, args if user is None else self._fitting(user, args, node), distinct, user

    def _window_parts(self, node: exp.Window) -> tuple[list[Any], Any, Any]:
        partition = list(node.args.get("partition_by") or [])
        order, spec = node.args.get("order"), node.args.get("spec")
        alias = node.args.get("alias")
        if alias is not None:
            base = self._windows.get(alias.name)
            if base is None:
                raise self._ctx.error(f"there is no window '{alias.name}' in the WINDOW clause", alias)
            base_partition, base_order, base_spec = self._window_parts(base)
            partition = partition or base_partition
            order, spec = order or base_order, spec or base_spec
        return partition, order, spec

    def _frame(self, spec: exp.WindowSpec) -> Frame:
        kind = "ROWS" if str(spec.args["kind"]).upper() == "ROWS" else "RANGE"
        start = self._bound(spec.args.get("start"), spec.args.get("start_side"))
        end = self._bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
        return Frame(kind, start, end)  # type: ignore[arg-type]

    def _bound(self, value: Any, side: Any) -> tuple[str, Rex | None]:
        if value == "CURRENT ROW":
            return "CURRENT ROW", None
        side = str(side or "PRECEDING").upper()
        return (side, None) if value == "UNBOUNDED" else (side, self.bind(value))


def _in_json_builder(node: Any) -> bool:
    return str(getattr(node.parent, "this", "")).upper() in _JSON_BUILDERS


def user_aggregate(user: UserFunction) -> FunctionDef:
    """A user's function as the registry would describe it."""
    kind: Any = user.kind
    return FunctionDef(user.name, kind, lambda args: user.result_type([a.type for a in args]))


def _dot_parts(node: Any) -> list[exp.Identifier]:
    if isinstance(node, exp.Dot):
        return [*_dot_parts(node.this), *_dot_parts(node.expression)]
    if isinstance(node, exp.Column):
        return [p for p in node.parts if isinstance(p, exp.Identifier)]
    return [node]


def _flatten(node: Any, kind: Any) -> list[Any]:
    if type(node) is kind:
        return [*_flatten(node.this, kind), *_flatten(node.expression, kind)]
    return [node]


def _positional(argument: Any) -> Any:
    return argument.expression if isinstance(argument, exp.Kwarg) else argument


_OPERATORS: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.DPipe: "||",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}

_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

_B = ExpressionBinder
_NEGATED: dict[type, Callable[[ExpressionBinder, Any], Rex]] = {
    exp.Is: lambda b, n: b._is(n, True),
    exp.Between: lambda b, n: b._between(n, True),
    exp.Like: lambda b, n: b._like(n, True),
    exp.SimilarTo: lambda b, n: b._like(n, True),
    exp.Escape: lambda b, n: b._escape(n, True),
    exp.In: lambda b, n: b._in(n, True),
    exp.Exists: lambda b, n: b._exists(n, True),
}

_BINDERS: dict[type, Callable[[ExpressionBinder, Any], Rex]] = {
    **dict.fromkeys(_OPERATORS, _B._binary),
    exp.And: _B._connector,
    exp.Or: _B._connector,
    exp.Not: _B._not,
    exp.Neg: _B._neg,
    exp.Paren: lambda b, n: b.bind(n.this),
    exp.Column: _B._column,
    exp.Dot: _B._dot,
    exp.Literal: _B._literal,
    exp.Concat: lambda b, n: literals.text("".join(e.this for e in n.expressions)),
    exp.National: lambda b, n: literals.text(n.this),
    exp.UnicodeString: lambda b, n: literals.unicode_text(n.this),
    exp.Boolean: lambda b, n: literals.boolean(bool(n.this)),
    exp.Null: lambda b, n: literals.null(),
    nodes.TypedLiteral: _B._typed,
    nodes.IntervalLiteral: _B._interval,
    nodes.BinaryLiteral: lambda b, n: b._guarded(lambda: literals.binary(n.this), n),
    exp.HexString: lambda b, n: b._guarded(lambda: literals.binary(n.this), n),
    nodes.TypeArgument: lambda b, n: TypeRef(parse_type(n.this, in_sql=True)),
    nodes.FlinkCast: _B._cast,
    exp.Is: _B._is,
    exp.Between: _B._between,
    exp.Like: _B._like,
    exp.SimilarTo: _B._like,
    exp.Escape: _B._escape,
    exp.In: _B._in,
    exp.Exists: _B._exists,
    exp.Subquery: _B._subquery,
    exp.Select: _B._subquery,
    exp.Tuple: _B._tuple,
    exp.Overlaps: _B._overlaps,
    exp.Case: _B._case,
    exp.Bracket: _B._bracket,
    exp.Anonymous: _B._function,
    exp.Filter: _B._filter,
    exp.WithinGroup: _B._within_group,
    exp.Window: _B._window,
}

"""FROM: tables, views, subqueries, joins, UNNEST, table functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.common.datatypes import ArrayType, DataTypes, MapType, MultisetType, RowType
from penstock.common.errors import NotSupportedError
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.hints import SelectHints, select_hints
from penstock.sql.binder.query import QueryBinder, rename
from penstock.sql.binder.scope import Merged, Relation, Scope
from penstock.sql.binder.tables import bind_table
from penstock.sql.binder.window_functions import PARAMETERS, WindowFunctionBinder
from penstock.sql.dialect import nodes
from penstock.sql.dialect.flink import parse_hints
from penstock.sql.dialect.statement_parser import parse_query
from penstock.sql.plan.algebra import (
    Correlate,
    Field,
    Fields,
    Join,
    Plan,
    TableFunctionScan,
    TemporalJoin,
    Unnest,
    Values,
)
from penstock.sql.plan.plan_rexes import has_outer
from penstock.sql.plan.rex import InputRef, Rex
from penstock.sql.user_functions import find_user_function

ONE_ROW = Values((), ((),))
"""What a SELECT without FROM reads."""


@dataclass
class Bound:
    """A bound FROM clause: its rows and what names mean there."""

    plan: Plan
    scope: Scope


class RelationBinder:
    """Binds FROM clauses inside the scope of the queries around."""

    def __init__(self, queries: QueryBinder, outer: Scope | None) -> None:
        self.queries = queries
        self._ctx: BindContext = queries.ctx
        self._outer = outer
        self._hints = SelectHints()

    def bind_from(self, node: Any, select: Any = None) -> Bound:
        """The joined rows of `node` and the joins of the query."""
        if node is None:
            return Bound(ONE_ROW, Scope([], self._outer))
        if select is not None:
            self._hints = select_hints(select)
        bound = self._first(node)
        for join in [*(node.args.get("joins") or []), *(select.args.get("joins") or [] if select else [])]:
            bound = self._join(bound, join)
        for lateral in select.args.get("laterals") or [] if select else []:
            bound = self._join(bound, exp.Join(this=lateral))
        if select is not None:
            self._hints.check((r.alias for r in bound.scope.relations), self._ctx, select)
        return bound

    def _first(self, node: Any) -> Bound:
        if isinstance(node, (exp.Unnest, nodes.TableFunction)) and not _stands_alone(node):
            return self._attach(Bound(ONE_ROW, Scope([], self._outer)), node, False, None)
        if isinstance(node, exp.Subquery) and not _is_query(node.this):
            return self._nested_joins(node)
        plan, alias, path = self._relation(node, self._outer)
        return Bound(plan, Scope([Relation(alias, 0, plan.fields, path)], self._outer))

    def _nested_joins(self, node: exp.Subquery) -> Bound:
        """FROM (a JOIN b ON …)."""
        bound = self.bind_from(node.this)
        if node.alias:
            plan = self._renamed(bound.plan, node)
            bound = Bound(plan, Scope([Relation(node.alias, 0, plan.fields)], self._outer))
        return bound

    # -- one relation ----------------------------------------------------------------------------------

    def _relation(self, node: Any, outer: Scope | None) -> tuple[Plan, str | None, tuple[str, ...]]:
        if isinstance(node, exp.MatchRecognize):
            return self._match(node), node.alias or None, ()
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Values):
            return self._renamed(self.queries.values(node.this, outer), node), node.alias or None, ()
        if isinstance(node, exp.Table):
            plan, path = self._table(node)
            return self._renamed(plan, node), node.alias or path[-1], path
        if isinstance(node, nodes.TableFunction):
            plan = self._state(node) if _is_state(node) else WindowFunctionBinder(self, node).bind()
            return self._renamed(plan, node), node.alias or None, ()
        if isinstance(node, exp.Lateral):
            plan = self.queries.bind(node.this, outer)
            return self._renamed(plan, node), node.alias or None, ()
        if isinstance(node, exp.Values):
            return self._renamed(self.queries.values(node, outer), node), node.alias or None, ()
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            return self._renamed(self._subquery(node, outer), node), node.alias or None, ()
        raise self._ctx.error(f"this cannot stand in FROM: {node.key}", node)

    def _state(self, node: nodes.TableFunction) -> Plan:
        """penstock_state('job', 'uid', 'state'): what a job has committed."""
        from penstock.sql.state_relation import state_relation

        return state_relation(self._ctx.config, [self._constant(a) for a in node.expressions])

    def _constant(self, node: Any) -> Any:
        if isinstance(node, exp.Neg):
            return -self._constant(node.this)
        if isinstance(node, exp.Literal):
            return node.name if node.is_string else int(node.name) if node.is_int else float(node.name)
        if isinstance(node, exp.Boolean):
            return bool(node.this)
        raise self._ctx.error("an argument of penstock_state has to be a constant", node)

    def _subquery(self, node: Any, outer: Scope | None) -> Plan:
        parent = None if outer is None else outer.parent if outer is not self._outer else outer
        return self.queries.bind(node, parent)

    def _renamed(self, plan: Plan, node: Any) -> Plan:
        alias = node.args.get("alias")
        columns = (
            [c.name for c in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []
        )
        if not columns:
            return plan
        if len(columns) != len(plan.fields):
            raise self._ctx.error(
                f"the alias names {len(columns)} columns, but there are {len(plan.fields)}", alias
            )
        return rename(plan, columns)

    def table_argument(self, node: nodes.TableArgument) -> Plan:
        """TABLE t, or a query in its place."""
        if isinstance(node.this, exp.Table):
            return self._table(node.this)[0]
        return self.queries.bind(node.this, None)

    def _table(self, node: exp.Table) -> tuple[Plan, tuple[str, ...]]:
        parts = tuple(p.name for p in node.parts)
        common = self.queries.tables.get(parts[0]) if len(parts) == 1 else None
        if common is not None:
            plan = QueryBinder(self._ctx, common.before).bind(common.ast)
            return (rename(plan, list(common.columns)) if common.columns else plan), parts
        found = self._ctx.catalogs.find_table(parts)
        if found is None:
            raise self._ctx.wrap(self._ctx.catalogs.table_not_found(parts), node)
        identifier, table = found
        path = tuple(identifier.to_list())
        if isinstance(table, CatalogView):
            return self._view(table), path
        if isinstance(table, Plan):
            return table, path
        hinted = self._with_hints(table, node)
        return bind_table(hinted, identifier, self.queries, self._ctx), path

    def _view(self, view: CatalogView) -> Plan:
        text = view.expanded_query
        ctx = replace(
            self._ctx.for_text(text),
            catalogs=self._ctx.catalogs.at(view.current_catalog, view.current_database),
        )
        plan = QueryBinder(ctx).bind(parse_query(text))
        names = [c.name for c in view.schema.columns]
        return rename(plan, names) if len(names) == len(plan.fields) else plan

    def _with_hints(self, table: CatalogTable, node: exp.Table) -> CatalogTable:
        options = dict(table.options)
        for name, pairs in parse_hints(node.meta.get("hint")):
            if name == "OPTIONS":
                options.update({key: value for key, value in pairs if key is not None})
        return table.with_options(options) if options != dict(table.options) else table

    def _match(self, node: exp.MatchRecognize) -> Plan:
        from penstock.sql.binder.match_recognize import bind_match

        plan, alias, _ = self._relation(node.args["input"], self._outer)
        return self._renamed(bind_match(self.queries, plan, alias, node), node)

    # -- joins -----------------------------------------------------------------------------------------

    def _join(self, left: Bound, join: exp.Join) -> Bound:
        node = join.this
        kind = _join_kind(join)
        outer = kind == "left"
        if isinstance(node, (exp.Unnest, nodes.TableFunction)) and not _stands_alone(node):
            if kind not in ("inner", "left"):
                raise self._ctx.error("UNNEST and table functions join with INNER, CROSS or LEFT", join)
            return self._attach(left, node, outer, join.args.get("on"))
        if isinstance(node, exp.Lateral):
            return self._lateral(left, node, kind, join)
        if isinstance(node, exp.Subquery) and not _is_query(node.this):
            inner = self._nested_joins(node)
            return self._joined(left, inner.plan, inner.scope.relations, kind, join)
        plan, alias, path = self._relation(node, self._outer)
        relation = Relation(alias, 0, plan.fields, path)
        version = node.args.get("version") if isinstance(node, exp.Table) else None
        if version is not None:
            return self._temporal(left, plan, relation, kind, join, version)
        return self._joined(left, plan, [relation], kind, join)

    def _joined(self, left: Bound, plan: Plan, relations: list[Relation], kind: Any, join: exp.Join) -> Bound:
        width = len(left.plan.fields)
        moved = [Relation(r.alias, r.start + width, r.fields, r.path) for r in relations]
        scope = Scope([*left.scope.relations, *moved], self._outer, list(left.scope.merged))
        condition, merged = self._condition(left, plan, scope, kind, join)
        fields = joined_fields(left.plan.fields, plan.fields, kind)
        hints = tuple(name for name, _ in parse_hints(join.meta.get("hint")))
        result = Join(fields, left.plan, plan, kind, condition, hints, self._ttl_ms(left, relations))
        return Bound(result, self._after_join(scope, fields, merged))

    def _ttl_ms(self, left: Bound, right: list[Relation]) -> tuple[int | None, int | None]:
        """What STATE_TTL says about the sides that are one table each."""
        sides = [[r.alias for r in relations] for relations in (left.scope.relations, right)]
        found = [self._hints.ttl_ms.get(names[0] or "") if len(names) == 1 else None for names in sides]
        return found[0], found[1]

    def _after_join(self, scope: Scope, fields: Fields, merged: list[Merged]) -> Scope:
        relations = [
            Relation(r.alias, r.start, fields[r.start : r.start + len(r.fields)], r.path)
            for r in scope.relations
        ]
        return Scope(relations, self._outer, [*scope.merged, *merged])

    def _condition(
        self, left: Bound, plan: Plan, scope: Scope, kind: str, join: exp.Join
    ) -> tuple[Rex | None, list[Merged]]:
        natural = join.args.get("method") == "NATURAL"
        using = [_column_name(c) for c in join.args.get("using") or []]
        if natural:
            right = {f.name for f in plan.fields}
            using = [name for name in left.scope.column_names() if name in right]
        if using:
            return self._using(left, plan, using, kind, scope, join)
        on = join.args.get("on")
        if on is None:
            if kind != "inner":
                raise self._ctx.error(f"a {kind} join needs ON or USING", join)
            return None, []
        return ExpressionBinder(self._ctx, scope, self.queries, place="ON").condition(on), []

    def _using(
        self, left: Bound, plan: Plan, names: list[str], kind: str, scope: Scope, join: exp.Join
    ) -> tuple[Rex, list[Merged]]:
        binder = ExpressionBinder(self._ctx, scope, self.queries, place="USING")
        width = len(left.plan.fields)
        tests: list[Rex] = []
        merged = []
        for name in names:
            ours, _ = left.scope.resolve([exp.to_identifier(name)], self._ctx)
            hits = [i for i, f in enumerate(plan.fields) if f.name == name]
            if len(hits) != 1:
                raise self._ctx.error(f"column '{name}' of USING is not on both sides", join)
            field = plan.fields[hits[0]]
            theirs: Rex = InputRef(field.type, width + hits[0], field.time)
            tests.append(binder.call("=", (ours, theirs), join))
            value = {"right": theirs, "full": None}.get(kind, ours)
            if value is None:
                args = (_nullable(ours), _nullable(theirs))
                value = binder.call("COALESCE", args, join)
            hides = [width + hits[0]]
            if isinstance(ours, InputRef):
                hides.append(ours.index)
            merged.append(Merged(name, value, tuple(hides)))
        scope.merged = [m for m in scope.merged if m.name not in names]
        condition = tests[0] if len(tests) == 1 else binder.call("AND", tuple(tests), join)
        return condition, merged

    def _temporal(
        self, left: Bound, plan: Plan, relation: Relation, kind: Any, join: exp.Join, version: exp.Version
    ) -> Bound:
        if kind not in ("inner", "left"):
            raise self._ctx.error("a temporal join is an INNER or a LEFT join", join)
        binder = ExpressionBinder(self._ctx, left.scope, self.queries, place="FOR SYSTEM_TIME AS OF")
        time = binder.bind(version.expression)
        if not isinstance(time, InputRef) or not time.time:
            raise self._ctx.error("FOR SYSTEM_TIME AS OF needs a time attribute of the left side", version)
        bound = self._joined(left, plan, [relation], kind, join)
        joined = bound.plan
        assert isinstance(joined, Join)
        if joined.condition is None:
            raise self._ctx.error("a temporal join needs an ON condition", join)
        temporal = TemporalJoin(
            joined.fields,
            joined.left,
            joined.right,
            kind,
            joined.condition,
            time.index,
            time.time == "proctime",
            self._hints.lookups.get(relation.alias or "", ()),
        )
        return Bound(temporal, bound.scope)

    def _lateral(self, left: Bound, node: exp.Lateral, kind: Any, join: exp.Join) -> Bound:
        if kind not in ("inner", "left"):
            raise self._ctx.error("LATERAL joins with INNER, CROSS or LEFT", join)
        plan = self._renamed(self.queries.bind(node.this, left.scope), node)
        relation = Relation(node.alias or None, 0, plan.fields)
        if not has_outer(plan):
            return self._joined(left, plan, [relation], kind, join)
        bound = self._joined(left, plan, [relation], kind, join)
        joined = bound.plan
        assert isinstance(joined, Join)
        return Bound(Correlate(joined.fields, left.plan, plan, kind, joined.condition), bound.scope)

    # -- UNNEST and table functions --------------------------------------------------------------------

    def _attach(self, left: Bound, node: Any, outer: bool, on: Any) -> Bound:
        if isinstance(node, exp.Unnest):
            plan, added, alias = self._unnest(left, node, outer)
        else:
            plan, added, alias = self._table_function(left, node, outer)
        relation = Relation(alias, len(left.plan.fields), added)
        scope = Scope([*left.scope.relations, relation], self._outer, list(left.scope.merged))
        if on is not None and not (isinstance(on, exp.Boolean) and on.this):
            if outer:
                raise self._ctx.error("LEFT JOIN with UNNEST or a table function takes only ON TRUE", on)
            from penstock.sql.plan.algebra import Filter

            condition = ExpressionBinder(self._ctx, scope, self.queries, place="ON").condition(on)
            plan = Filter(plan.fields, plan, condition)
        return Bound(plan, scope)

    def _unnest(self, left: Bound, node: exp.Unnest, outer: bool) -> tuple[Plan, Fields, str | None]:
        binder = ExpressionBinder(self._ctx, left.scope, self.queries, place="UNNEST")
        if len(node.expressions) != 1:
            raise self._ctx.error("UNNEST takes one collection", node)
        collection = binder.bind(node.expressions[0])
        offset = node.args.get("offset")
        alias = node.args.get("alias")
        names = [c.name for c in alias.args.get("columns") or []] if alias is not None else []
        if isinstance(offset, exp.Identifier):
            names.append(offset.name)
        fields = list(self._element_fields(collection, node))
        if offset:
            fields.append(Field("ORDINALITY", DataTypes.INT(False)))
        if names and len(names) != len(fields):
            raise self._ctx.error(f"the alias names {len(names)} columns, but there are {len(fields)}", node)
        if names:
            fields = [replace(f, name=n) for f, n in zip(fields, names, strict=True)]
        if outer:
            fields = [replace(f, type=f.type.nullable()) for f in fields]
        added = tuple(fields)
        name = alias.name if alias is not None and alias.this is not None else None
        plan = Unnest((*left.plan.fields, *added), left.plan, collection, bool(offset), outer)
        return plan, added, name

    def _element_fields(self, collection: Rex, node: Any) -> list[Field]:
        data_type = collection.type
        if isinstance(data_type, MapType):
            return [Field("KEY", data_type.key_type), Field("VALUE", data_type.value_type)]
        if not isinstance(data_type, (ArrayType, MultisetType)):
            raise self._ctx.error(
                f"UNNEST takes an ARRAY, MAP or MULTISET, not {data_type.as_summary()}", node
            )
        element = data_type.element_type
        if isinstance(element, RowType):
            return [
                Field(f.name, f.data_type.with_nullability(f.data_type.is_nullable or element.is_nullable))
                for f in element
            ]
        return [Field("EXPR$0", element)]

    def _table_function(
        self, left: Bound, node: nodes.TableFunction, outer: bool
    ) -> tuple[Plan, Fields, str | None]:
        name = str(node.this)
        function = find_user_function(self._ctx.catalogs, name)
        if function is None or getattr(function, "kind", "") != "table":
            if name.upper() in (
                "TO_CHANGELOG",
                "FROM_CHANGELOG",
                "ML_PREDICT",
                "ML_EVALUATE",
                "VECTOR_SEARCH",
            ):
                raise NotSupportedError(f"table function {name}", "it is not built in here")
            raise self._ctx.error(f"there is no table function {name}", node)
        binder = ExpressionBinder(self._ctx, left.scope, self.queries, place="a table function")
        args = function.arguments(tuple(binder.bind(a) for a in node.expressions))
        fields = [Field(n, t) for n, t in function.result_fields([a.type for a in args])]
        alias = node.args.get("alias")
        names = [c.name for c in alias.args.get("columns") or []] if alias is not None else []
        if names:
            if len(names) != len(fields):
                raise self._ctx.error(
                    f"{name} gives {len(fields)} columns, the alias names {len(names)}", node
                )
            fields = [replace(f, name=n) for f, n in zip(fields, names, strict=True)]
        if outer:
            fields = [replace(f, type=f.type.nullable()) for f in fields]
        added = tuple(fields)
        plan = TableFunctionScan((*left.plan.fields, *added), left.plan, name, function, args, added, outer)
        return plan, added, node.alias or None


def _stands_alone(node: Any) -> bool:
    """Functions whose rows do not depend on other relations."""
    return _is_window(node) or _is_state(node)


def _is_state(node: Any) -> bool:
    return isinstance(node, nodes.TableFunction) and str(node.this).upper() == "PENSTOCK_STATE"


def _is_window(node: Any) -> bool:
    return isinstance(node, nodes.TableFunction) and str(node.this).upper() in PARAMETERS


def _is_query(node: Any) -> bool:
    return isinstance(node, (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)) and not (
        isinstance(node, exp.Subquery) and node.args.get("joins")
    )


def _join_kind(join: exp.Join) -> str:
    side = (join.args.get("side") or "").lower()
    if side in ("left", "right", "full"):
        return side
    return "inner"


def _column_name(node: Any) -> str:
    return str(node.name)


def joined_fields(left: Fields, right: Fields, kind: str) -> Fields:
    """The columns of a join; those of a side that may be missing can be NULL."""

    def nullable(fields: Fields) -> Fields:
        return tuple(replace(f, type=f.type.nullable()) for f in fields)

    left = nullable(left) if kind in ("right", "full") else left
    right = nullable(right) if kind in ("left", "full") else right
    return (*left, *right)


def _nullable(rex: Rex) -> Rex:
    return replace(rex, type=rex.type.nullable())

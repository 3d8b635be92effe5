"""Patterns drawn: the automaton as a Graphviz graph, and as an SVG image for notebooks.

States stand in a row, from the start to the end. An edge that takes the event is solid, one that passes it over
dashed, one that lets the next state look at the same event dotted. The edges that a match has taken are bold, with
its events.
"""

from __future__ import annotations

from html import escape

from penstock.cep.nfa.compiler import compile_pattern
from penstock.cep.nfa.found import FoundMatch
from penstock.cep.nfa.states import Action, Automaton, State, StateKind, Transition
from penstock.cep.pattern.conditions import condition_text
from penstock.cep.pattern.pattern import Pattern
from penstock.operators.failures import shorten

_STYLES = {Action.TAKE: "solid", Action.IGNORE: "dashed", Action.PROCEED: "dotted"}
_SHAPES = {StateKind.FINAL: "doublecircle", StateKind.STOP: "octagon", StateKind.PENDING: "doubleoctagon"}


def to_dot(pattern: Pattern, match: FoundMatch | None = None) -> str:
    """The graph, in Graphviz's language."""
    states = _in_order(compile_pattern(pattern))
    taken = _taken_by(match)
    lines = ["digraph pattern {", "  rankdir=LR;", '  "" [shape=none];']
    for state in states:
        lines.append(f"  {_quoted(state.name)} [shape={_SHAPES.get(state.kind, 'circle')}];")
        if state.kind is StateKind.START:
            lines.append(f'  "" -> {_quoted(state.name)};')
    for state in states:
        for edge in state.transitions:
            events = taken.get((state.name, edge.target.name), []) if edge.action is Action.TAKE else []
            style, label = _STYLES[edge.action], _quoted("\n".join([_label(edge), *events]))
            ends = f"{_quoted(state.name)} -> {_quoted(edge.target.name)}"
            bold = ", penwidth=3" if events else ""
            lines.append(f"  {ends} [style={style}, label={label}{bold}];")
    return "\n".join([*lines, "}"])


_GAP, _RADIUS, _LEVEL = 150, 34, 46
_DASHES = {
    Action.TAKE: "",
    Action.IGNORE: ' stroke-dasharray="7 4"',
    Action.PROCEED: ' stroke-dasharray="2 3"',
}


def to_svg(pattern: Pattern) -> str:
    """The same as an image: states in a row, edges as arcs above (forward) and below (back, or to itself)."""
    states = _in_order(compile_pattern(pattern))
    place = {state.name: number for number, state in enumerate(states)}
    longest = max(abs(place[e.target.name] - place[s.name]) for s in states for e in s.transitions)
    middle = _LEVEL * (longest + 1) + _RADIUS
    width, height = _GAP * len(states), 2 * middle
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
    ]
    parts += [_arc(edge, place, middle) for state in states for edge in state.transitions]
    parts += [_circle(state, place[state.name], middle) for state in states]
    return "".join([*parts, "</svg>"])


def _arc(edge: Transition, place: dict[str, int], middle: int) -> str:
    source, target = place[edge.source.name], place[edge.target.name]
    start, end = (_GAP * (n + 0.5) for n in (source, target))
    level = _LEVEL * (abs(target - source) + 0.6) * (-1 if target > source else 1)
    rim = -_RADIUS if target > source else _RADIUS
    if source == target:
        start, end = start - _RADIUS / 2, end + _RADIUS / 2
    top = middle + rim + level
    path = f"M{start:g},{middle + rim:g} C{start:g},{top:g} {end:g},{top:g} {end:g},{middle + rim:g}"
    title = f"{edge.action.value}: {_label(edge)}"
    return (
        f'<path d="{path}" fill="none" stroke="black" marker-end="url(#to)"{_DASHES[edge.action]}>'
        f"<title>{escape(title)}</title></path>"
    )


def _circle(state: State, number: int, middle: int) -> str:
    x = _GAP * (number + 0.5)
    weight = {StateKind.FINAL: 4, StateKind.STOP: 1, StateKind.START: 2}.get(state.kind, 1)
    fill = {StateKind.STOP: "#f6c7c7", StateKind.FINAL: "#cdeccd", StateKind.START: "#dde7f7"}.get(
        state.kind, "white"
    )
    return (
        f'<circle cx="{x:g}" cy="{middle}" r="{_RADIUS}" fill="{fill}" stroke="black" stroke-width="{weight}"/>'
        f'<text x="{x:g}" y="{middle + 4}" text-anchor="middle">{escape(state.name)}</text>'
    )


def _in_order(automaton: Automaton) -> list[State]:
    """States as they are reached from the start; they were made from the end."""
    found = {automaton.start.name: automaton.start}
    pending = [automaton.start]
    for state in pending:
        for edge in state.transitions:
            if edge.target.name not in found:
                found[edge.target.name] = edge.target
                pending.append(edge.target)
    return sorted(found.values(), key=lambda state: state.kind in (StateKind.FINAL, StateKind.STOP))


def _taken_by(match: FoundMatch | None) -> dict[tuple[str, str], list[str]]:
    """Numbered events of a match, by the ends of the edge that took them."""
    found: dict[tuple[str, str], list[str]] = {}
    for number, taken in enumerate(match.why() if match is not None else (), start=1):
        found.setdefault((taken.source, taken.target), []).append(f"{number}: {shorten(taken.event)}")
    return found


def _label(edge: Transition) -> str:
    return f"{edge.action.value.lower()}: {condition_text(edge.condition)}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

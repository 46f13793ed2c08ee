"""The small changes that are tried on a piece of code, one at a time: what a slip of the hand could have made of it.

Read ``edits`` first. A change is an ``Edit``: some fields of syntax nodes get other values, and their own back when it
is over. Texts for people are left alone, and so are assertions, annotations and docstrings.
"""

import ast
import enum
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

Scope = Mapping[str, Any]
"""The names of the module, as they are when it is loaded."""


@attrs.define(eq=False)
class Edit:
    """Other values for fields of nodes, in place while it is entered.

    What is changed reads as ``was`` before and as ``now`` after; ``unit`` is the innermost statement around it.
    """

    swaps: list[tuple[ast.AST, str, Any]]
    was: ast.AST
    now: ast.AST | None
    unit: ast.stmt

    def __enter__(self) -> "Edit":
        self._swap()
        return self

    def __exit__(self, *error: object) -> None:
        self._swap()

    def _swap(self) -> None:
        others = [(node, field, getattr(node, field)) for node, field, _ in self.swaps]
        for node, field, value in self.swaps:
            setattr(node, field, value)
        self.swaps = others


@attrs.frozen(eq=False)
class Place:
    """A node, where it hangs in its tree, and the innermost statement around it, or the one that it is."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    unit: ast.stmt

    @property
    def is_condition(self) -> bool:
        """Whether it is a whole condition: those are forced both ways, which says more than turning them round."""
        return isinstance(self.parent, ast.If | ast.While | ast.IfExp) and self.field == "test"

    def replaced(self, new: ast.AST) -> Edit:
        """Another node in its place; what is tiny is told with what it stands in."""
        value: Any = ast.copy_location(new, self.node)
        if self.index is not None:
            items = getattr(self.parent, self.field)
            value = [*items[: self.index], value, *items[self.index + 1 :]]
        was, now = self.node, new
        if isinstance(self.node, ast.Constant | ast.Attribute | ast.Name):
            in_statement = isinstance(self.parent, ast.stmt | ast.arguments)
            was = now = self.unit if in_statement else self.parent
        return Edit([(self.parent, self.field, value)], was, now, self.unit)

    def changed(self, **fields: Any) -> Edit:
        """The node with other values in its fields."""
        return Edit([(self.node, field, value) for field, value in fields.items()], self.node, self.node, self.unit)

    def without(self, index: int, *fields: str) -> Edit:
        """The node without one member of a list, or of several that go together."""
        shorter = {field: _but(getattr(self.node, field), index) for field in fields}
        return self.changed(**shorter)


def _but(items: list[Any], index: int) -> list[Any]:
    return items[:index] + items[index + 1 :]


def places(root: ast.AST, unit: ast.stmt) -> Iterator[Place]:
    """Every node below ``root`` that may be changed, from the outside to the inside."""
    for field, value in ast.iter_fields(root):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not _left_alone(child):
                inner = child if isinstance(child, ast.stmt) else unit
                yield Place(child, root, field, index if isinstance(value, list) else None, inner)
                yield from places(child, inner)


def _left_alone(node: ast.AST) -> bool:
    documentation = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return documentation or isinstance(node, ast.Assert | ast.JoinedStr | ast.expr_context)


def edits(root: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Every change to a function, or to another statement."""
    found = list(places(root, root))
    bound = _bound_before(root, found)
    for place in found:
        yield from (place.replaced(new) for new in _others(place, scope))
        yield from _parts(place, scope)
        yield from _branches(place)
        if isinstance(place.node, ast.stmt) and _may_go(place, bound):
            yield place.replaced(ast.Pass())


COMPARED: Mapping[type, tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
}

COMPUTED: Mapping[type, type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

NAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}


def _others(place: Place, scope: Scope) -> Iterable[ast.AST]:
    """What could stand in the place of a node."""
    node = place.node
    match node:
        case ast.Compare(left=left, ops=ops, comparators=right):
            return _comparisons(place, left, ops, right)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            fewer = (_but(values, index) for index in range(len(values)))
            return [ast.BoolOp(other, values), *(one[0] if len(one) == 1 else ast.BoolOp(op, one) for one in fewer)]
        case ast.UnaryOp(op=ast.Not(), operand=operand) if not place.is_condition:
            return [operand]
        case ast.Constant(value=value) if not _is_cast(place.parent):
            return [ast.Constant(other) for other in _constants(value)]
        case ast.Attribute(ctx=ast.Load()):
            return _members(node, scope)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in COMPUTED:
            return [] if isinstance(_resolve(right, scope), type) else [ast.BinOp(left, COMPUTED[type(op)](), right)]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Call():
            return _calls(node, place, scope)
        case _:
            return []


def _comparisons(place: Place, left: ast.expr, ops: list[ast.cmpop], right: list[ast.expr]) -> Iterator[ast.Compare]:
    for index, op in enumerate(ops):
        if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) or len(ops) > 1 or not place.is_condition:
            for new in COMPARED[type(op)]:
                yield ast.Compare(left, [*ops[:index], new(), *ops[index + 1 :]], right)


def _is_cast(node: ast.AST) -> bool:
    """Whether it is there for the type checker only."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast"


def _constants(value: object) -> list[object]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1] if value == 0 else [value + 1, value - 1]
        case str() if value and not any(sign.isspace() for sign in value):
            return [value + "x"]
        case _:
            return []


def _members(node: ast.Attribute, scope: Scope) -> list[ast.AST]:
    """Another member of the same enumeration."""
    kind = _resolve(node.value, scope)
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return []
    names = list(kind.__members__)
    if node.attr not in names or len(names) == 1:
        return []
    return [ast.Attribute(node.value, names[(names.index(node.attr) + 1) % len(names)], ast.Load())]


def _calls(node: ast.Call, place: Place, scope: Scope) -> Iterator[ast.AST]:
    """A call left out where its first argument could stand for it, and its kin: ``min`` for ``max``."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in NAMED:
        func = ast.copy_location(ast.Name(NAMED[name], ast.Load()), node.func)
        yield ast.Call(func, node.args, node.keywords)
    elif name == "sorted":
        yield node.args[0]
    elif name == "isinstance" and not place.is_condition and not isinstance(place.parent, ast.BoolOp | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)
    elif name != "replace" and node.args and _gives_what_it_takes(_resolve(node.func, scope)):
        # ``state = touch(state)`` without the call is the whole statement left out, which is tried as such.
        whole = isinstance(place.parent, ast.Assign) and ast.unparse(place.parent.targets[0]) == ast.unparse(
            node.args[0]
        )
        if not whole:
            yield node.args[0]


def _gives_what_it_takes(function: object) -> bool:
    if not inspect.isfunction(function):
        return False
    signature = inspect.signature(function)
    first = next(iter(signature.parameters.values()), None)
    return first is not None and first.annotation == signature.return_annotation is not inspect.Signature.empty


def _parts(place: Place, scope: Scope) -> Iterator[Edit]:
    """Parts of a node left out, and conditions forced."""
    node = place.node
    match node:
        case ast.If():
            yield from (place.changed(test=ast.copy_location(ast.Constant(it), node.test)) for it in (True, False))
        case ast.While(test=test) if not isinstance(test, ast.Constant):
            yield place.changed(test=ast.copy_location(ast.Constant(False), test))
        case ast.For(iter=each):
            yield place.changed(iter=ast.copy_location(ast.Tuple([], ast.Load()), each))
        case ast.AugAssign(op=op) if type(op) in COMPUTED:
            yield place.changed(op=COMPUTED[type(op)]())
        case ast.Call(func=func, keywords=keywords):
            optional = _optional(_resolve(func, scope))
            for index, keyword in enumerate(keywords):
                if keyword.arg is not None and (optional is None or keyword.arg in optional):
                    yield place.without(index, "keywords")
            if isinstance(func, ast.Name) and func.id == "isinstance":
                yield from (place.changed(args=[node.args[0], fewer]) for fewer in _fewer_classes(node.args[1]))
        case ast.Subscript(slice=ast.Slice() as bounds):
            for lower, upper in ((None, bounds.upper), (bounds.lower, None)):
                if (lower, upper) != (bounds.lower, bounds.upper):
                    yield place.changed(slice=ast.copy_location(ast.Slice(lower, upper, bounds.step), bounds))
        case ast.Tuple(elts=elements, ctx=ast.Load()) | ast.List(elts=elements, ctx=ast.Load()):
            if any(isinstance(element, ast.Starred) for element in elements) or isinstance(place.unit, ast.AnnAssign):
                yield from (place.without(index, "elts") for index in range(len(elements)))
        case ast.Set(elts=elements) if len(elements) > 1:
            yield from (place.without(index, "elts") for index in range(len(elements)))
        case ast.Dict(keys=keys):
            yield from (place.without(index, "keys", "values") for index in range(len(keys)))
        case ast.comprehension(ifs=ifs):
            yield from (place.without(index, "ifs") for index in range(len(ifs)))
        case _:
            pass


def _branches(place: Place) -> Iterator[Edit]:
    """Cases left out, guards left out, patterns widened or narrowed; exceptions let through."""
    node = place.node
    match node:
        case ast.Match(cases=cases) if len(cases) > 1:
            for index, case in enumerate(cases):
                if not _does_nothing(case):
                    yield Edit([(node, "cases", _but(cases, index))], case, None, place.unit)
        case ast.match_case(guard=ast.expr()):
            yield place.changed(guard=None)
        case ast.MatchOr(patterns=patterns):
            yield from (place.without(index, "patterns") for index in range(len(patterns)))
        case ast.MatchClass(kwd_patterns=patterns):
            for index, pattern in enumerate(patterns):
                if not any(isinstance(part, ast.MatchAs) and part.name for part in ast.walk(pattern)):
                    yield place.without(index, "kwd_attrs", "kwd_patterns")
        case ast.ExceptHandler(type=kinds, body=body):
            yield place.changed(body=[ast.copy_location(ast.Raise(), body[0])])
            if isinstance(kinds, ast.Tuple):
                for index in range(len(kinds.elts)):
                    yield place.changed(type=ast.copy_location(ast.Tuple(_but(kinds.elts, index), ast.Load()), kinds))
        case _:
            pass


def _does_nothing(case: ast.match_case) -> bool:
    """Whether it only says that all else is passed over."""
    plain = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
    return plain and isinstance(case.body[0], ast.Pass | ast.Continue)


def _fewer_classes(node: ast.expr) -> Iterator[ast.expr]:
    """``A | B`` for ``A | B | C``."""
    kinds = _alternatives(node)
    for index in range(len(kinds)):
        rest = _but(kinds, index)
        if rest:
            new = rest[0]
            for kind in rest[1:]:
                new = ast.BinOp(new, ast.BitOr(), kind)
            yield ast.copy_location(new, node)


def _alternatives(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_alternatives(node.left), *_alternatives(node.right)]
    return [node]


def _optional(function: object) -> frozenset[str] | None:
    """The keywords that a call can do without; ``None`` for any, as of ``replace``."""
    if getattr(function, "__name__", "") == "replace":
        return None
    try:
        parameters = inspect.signature(function).parameters.values() if callable(function) else ()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(one.name for one in parameters if one.default is not inspect.Parameter.empty)


def _resolve(node: ast.AST, scope: Scope) -> object:
    """What a name, or a member of one, stands for; nothing if that is not known."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in scope:
        return getattr(scope[node.value.id], node.attr, None)
    return None


def _may_go(place: Place, bound: Mapping[ast.AST, frozenset[str]]) -> bool:
    """Whether a statement can be left out on its own, and that is not what forcing its condition does anyway."""
    alone = isinstance(place.parent, ast.If) and len(getattr(place.parent, place.field)) == 1
    alone = alone or (isinstance(place.parent, ast.match_case) and _does_nothing(place.parent))
    match place.node:
        case ast.Expr() | ast.Raise() | ast.Continue() | ast.Break() | ast.AugAssign():
            return not alone
        case ast.Assign(targets=targets):
            return not alone and all(_is_bound(target, bound[place.node]) for target in targets)
        case _:
            return False


def _is_bound(target: ast.expr, known: frozenset[str]) -> bool:
    if isinstance(target, ast.Tuple):
        return all(_is_bound(part, known) for part in target.elts)
    return target.id in known if isinstance(target, ast.Name) else True


def _bound_before(root: ast.AST, found: list[Place]) -> Mapping[ast.AST, frozenset[str]]:
    """For each assignment, the local names that have a value before it, as far as reading downwards tells."""
    known = {one.arg for one in ast.walk(root) if isinstance(one, ast.arg)}
    bound: dict[ast.AST, frozenset[str]] = {}
    for node in (place.node for place in found):
        if isinstance(node, ast.Assign):
            bound[node] = frozenset(known)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            known.update(name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
    return bound

"""Expressions of fields, such as "0.5 * (ux**2 + uy**2)": read, checked, and computed. Nothing of Python is run."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs),
    "cos": (1, np.cos),
    "exp": (1, np.exp),
    "log": (1, np.log),
    "log10": (1, np.log10),
    "maximum": (2, np.maximum),
    "minimum": (2, np.minimum),
    "sin": (1, np.sin),
    "sqrt": (1, np.sqrt),
    "tanh": (1, np.tanh),
}
_CONSTANTS = {"pi": math.pi}
_LONGEST = 1000  # letters; what is deeper than this allows would use up the stack


def is_expression(text: str) -> bool:
    """Whether a text is more than a name. Local."""
    return not text.isidentifier()


def names_in(text: str) -> list[str]:
    """The fields that an expression needs, each once.

    :raises ValueError: it is not an expression of fields, and why.
    """
    body = _parsed(text)
    called = {id(node.func) for node in ast.walk(body) if isinstance(node, ast.Call)}
    found = [node.id for node in ast.walk(body) if isinstance(node, ast.Name) and id(node) not in called]
    if problem := next(_problems(body), None):
        raise ValueError(f"'{text}': {problem}")
    names = list(dict.fromkeys(name for name in found if name not in _CONSTANTS))
    if not names:
        raise ValueError(f"'{text}': names no field")
    return names


def _real(values: Any) -> Any:
    """Whole numbers and truth values as float64: those of few bits would overflow."""
    return values.astype(np.float64) if values.dtype.kind in "biu" else values


def evaluate(text: str, field: Callable[[str], Any]) -> Any:
    """The value of an expression.

    :param field: gives the field, or the array, of a name.
    :raises ValueError: it is not an expression of fields.
    """
    values = {name: _real(field(name)) for name in names_in(text)}

    def value(node: ast.expr) -> Any:
        match node:
            case ast.BinOp():
                return _BINARY[type(node.op)](value(node.left), value(node.right))
            case ast.UnaryOp():
                return _UNARY[type(node.op)](value(node.operand))
            case ast.Call(func=ast.Name(id=name)):
                return _FUNCTIONS[name][1](*map(value, node.args))
            case ast.Name(id=name):
                return _CONSTANTS[name] if name in _CONSTANTS else values[name]
            case ast.Constant(value=int() | float() as number):
                return float(number)  # whole numbers would grow without an end
        raise AssertionError(node)  # names_in has seen to it

    try:
        with np.errstate(all="ignore"):  # what is not finite is seen in the picture
            found = value(_parsed(text))
    except ArithmeticError as error:
        raise ValueError(f"'{text}' cannot be computed: {error}") from None
    if np.iscomplexobj(found):
        raise ValueError(f"'{text}' has values that are not real")
    return found


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"an expression has at most {_LONGEST} letters (found {len(text)})")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"'{text}' is neither a field nor an expression of fields, such as 0.5*(ux**2 + uy**2)"
        ) from None


def _problems(node: ast.expr) -> Iterator[str]:
    """What an expression has that it must not have."""
    match node:
        case ast.BinOp() if type(node.op) in _BINARY:
            yield from _problems(node.left)
            yield from _problems(node.right)
        case ast.UnaryOp() if type(node.op) in _UNARY:
            yield from _problems(node.operand)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            if len(node.args) != _FUNCTIONS[name][0]:
                yield f"{name} takes {_FUNCTIONS[name][0]} value(s) (found {len(node.args)})"
            for one in node.args:
                yield from _problems(one)
        case ast.Call(func=ast.Name(id=name)):
            yield f"there is no function {name}; there are {', '.join(_FUNCTIONS)}"
        case ast.Name():
            pass
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if abs(number) > 1e300:
                yield "a number is too large"
        case _:
            known = ", ".join(_FUNCTIONS)
            yield f"{ast.unparse(node)[:60]} cannot be used; there are + - * / **, numbers, fields and {known}"

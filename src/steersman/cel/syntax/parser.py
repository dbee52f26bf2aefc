"""Parses tokens into a tree, with errors worded as Kubernetes words them.

A misplaced token is skipped if the next one fits, and a missing bracket is assumed; after anything worse parsing ends.
Depth and size are limited, so that no text can exhaust the stack.
"""

from collections.abc import Callable, Sequence
from typing import NoReturn

from steersman.cel.errors import Issue, Source
from steersman.cel.syntax.lexer import Token, TokenKind, tokenize, visible
from steersman.cel.syntax.literals import bytes_value, double_value, int_value, string_value, uint_value
from steersman.cel.syntax.macros import MacroError, expand
from steersman.cel.syntax.tree import (
    Call,
    Entry,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
    StructExpr,
    StructField,
    depth_exceeds,
)

MAX_CODE_POINTS = 100_000
MAX_DEPTH = 250

K = TokenKind

#: Binary operators: how tightly they bind, and the function they call.
_BINARY: dict[TokenKind, tuple[int, str]] = {
    K.OR: (1, "_||_"),
    K.AND: (2, "_&&_"),
    K.LESS: (3, "_<_"),
    K.LESS_EQUALS: (3, "_<=_"),
    K.GREATER_EQUALS: (3, "_>=_"),
    K.GREATER: (3, "_>_"),
    K.EQUALS: (3, "_==_"),
    K.NOT_EQUALS: (3, "_!=_"),
    K.IN: (3, "@in"),
    K.PLUS: (4, "_+_"),
    K.MINUS: (4, "_-_"),
    K.STAR: (5, "_*_"),
    K.SLASH: (5, "_/_"),
    K.PERCENT: (5, "_%_"),
}
_LOGICAL = frozenset({K.OR, K.AND})
_SIGNS = frozenset({K.NOT, K.MINUS})
_RESERVED = frozenset(
    {
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    }
)
_EXPRESSION = frozenset(
    {
        K.LEFT_BRACKET,
        K.LEFT_BRACE,
        K.LEFT_PAREN,
        K.DOT,
        K.MINUS,
        K.NOT,
        K.TRUE,
        K.FALSE,
        K.NULL,
        K.FLOAT,
        K.INT,
        K.UINT,
        K.STRING,
        K.BYTES,
        K.IDENTIFIER,
    }
)
_ARGUMENTS = _EXPRESSION | {K.RIGHT_PAREN}
_ELEMENTS = _EXPRESSION | {K.RIGHT_BRACKET, K.COMMA, K.QUESTION}
_ENTRIES = _EXPRESSION | {K.RIGHT_BRACE, K.COMMA, K.QUESTION}
#: Tokens that may follow a complete operand, so that a missing closing bracket can be assumed before them.
_AFTER_OPERAND = frozenset(
    {
        *_BINARY,
        K.QUESTION,
        K.COLON,
        K.COMMA,
        K.RIGHT_PAREN,
        K.RIGHT_BRACKET,
        K.RIGHT_BRACE,
        K.DOT,
        K.LEFT_BRACKET,
        K.END,
    }
)
_FOLLOW = {
    K.RIGHT_PAREN: _AFTER_OPERAND,
    K.RIGHT_BRACKET: _AFTER_OPERAND,
    K.RIGHT_BRACE: _AFTER_OPERAND,
    K.COLON: _EXPRESSION,
}


class _Abort(Exception):  # noqa: N818 - a jump, not an error: the issue was recorded
    """Parsing cannot continue after an error."""


def parse(source: Source) -> tuple[Node | None, list[Issue]]:
    """Read an expression; the tree is ``None`` when there are issues."""
    if len(source.text) > MAX_CODE_POINTS:
        size = f"expression code point size exceeds limit: size: {len(source.text)}, limit {MAX_CODE_POINTS}"
        return None, [Issue(-1, size)]
    parser = _Parser(source)
    try:
        root = parser.expression()
        parser.end()
    except _Abort:
        return None, parser.issues
    except RecursionError:
        return None, [_too_deep()]
    if not parser.issues and depth_exceeds(root, MAX_DEPTH):
        return None, [_too_deep()]
    return (None if parser.issues else root), parser.issues


def _too_deep() -> Issue:
    return Issue(-1, f"expression recursion limit exceeded: {MAX_DEPTH}")


def _shown(kinds: frozenset[TokenKind]) -> str:
    names = [kind.value for kind in TokenKind if kind in kinds]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


class _Parser:
    """One pass over the tokens of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens, self.issues, self._holes = tokenize(source.text)
        self._place = 0
        self._depth = 0

    # Reading tokens

    @property
    def _token(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._tokens[self._place]
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def _accept(self, kind: TokenKind) -> bool:
        if self._token.kind is kind:
            self._take()
            return True
        return False

    def _second(self) -> TokenKind:
        return self._tokens[min(self._place + 1, len(self._tokens) - 1)].kind

    def _report(self, offset: int, message: str) -> None:
        self.issues.append(Issue(offset, message))

    def _syntax_error(self, verb: str, expected: frozenset[TokenKind]) -> None:
        token = self._token
        self._report(token.offset, f"Syntax error: {verb} input '{visible(token.text)}' expecting {_shown(expected)}")

    def _mismatch(self, expected: frozenset[TokenKind]) -> NoReturn:
        self._syntax_error("mismatched", expected)
        raise _Abort

    def _sync(self, expected: frozenset[TokenKind]) -> bool:
        """Make the current token one of the expected ones; return whether one had to be skipped."""
        if self._token.kind in expected:
            return False
        if self._second() not in expected:
            self._mismatch(expected)
        self._syntax_error("extraneous", expected)
        self._take()
        return True

    def _expect(self, kind: TokenKind) -> Token:
        """Consume a required token; skip one before it, or assume it, where that helps."""
        if self._token.kind is not kind:
            if self._second() is kind:
                self._syntax_error("extraneous", frozenset({kind}))
                self._take()
            elif self._token.kind in _FOLLOW.get(kind, frozenset()):
                token = self._token
                self._report(token.offset, f"Syntax error: missing {kind.value} at '{visible(token.text)}'")
                return token
            else:
                self._mismatch(frozenset({kind}))
        return self._take()

    def end(self) -> None:
        """Require that nothing is left."""
        self._expect(K.END)

    # Grammar

    def expression(self) -> Node:
        """Read ``a ? b : c`` and everything that binds tighter."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.issues[:] = [_too_deep()]
            raise _Abort
        branches: list[tuple[int, Node, Node]] = []
        value = self._binary()
        while self._token.kind is K.QUESTION:
            offset = self._take().offset
            then = self._binary()
            self._expect(K.COLON)
            branches.append((offset, value, then))
            value = self._binary()
        for offset, condition, then in reversed(branches):
            value = Call(offset, "_?_:_", None, [condition, then, value])
        self._depth -= 1
        return value

    def _binary(self) -> Node:
        # Nested expressions come through here: every call saved is room on the stack.
        operands = [self._unary() if self._token.kind in _SIGNS else self._member()]
        operators: list[Token] = []
        while (binary := _BINARY.get(self._token.kind)) is not None:
            kind = self._token.kind
            while operators and _binds(operators[-1].kind, kind, binary[0]):
                _reduce(operands, operators)
            operators.append(self._take())
            operands.append(self._unary() if self._token.kind in _SIGNS else self._member())
        while operators:
            _reduce(operands, operators)
        return operands[0]

    def _unary(self) -> Node:
        first = self._token
        if first.kind is K.MINUS and self._second() in (K.INT, K.FLOAT):
            return self._member()
        count = 0
        while self._token.kind is first.kind:
            self._take()
            count += 1
        operand = self._member()
        if count % 2 == 0:
            return operand
        return Call(first.offset, "!_" if first.kind is K.NOT else "-_", None, [operand])

    def _member(self) -> Node:
        if self._sync(_EXPRESSION) and self._token.kind in _SIGNS:
            return self._unary()
        read = _PRIMARY.get(self._token.kind)
        if read is None:
            self._mismatch(_EXPRESSION - {K.NOT})
        node = read(self)
        while True:
            if self._token.kind is K.DOT:
                node = self._field(node)
            elif self._token.kind is K.LEFT_BRACKET:
                node = self._index(node)
            elif self._token.kind is K.LEFT_BRACE and (name := _qualified_name(node)) is not None:
                node = self._struct(name)
            else:
                return node

    def _field(self, node: Node) -> Node:
        dot = self._take()
        optional = self._accept(K.QUESTION)
        name = self._token
        if name.kind is K.ESCAPED_IDENTIFIER:
            self._report(name.offset, "unsupported syntax: '`'")
        elif name.kind is not K.IDENTIFIER and optional:
            self._mismatch(frozenset({K.IDENTIFIER, K.ESCAPED_IDENTIFIER}))
        elif name.kind is not K.IDENTIFIER:
            self._no_viable_alternative(dot)
        self._take()
        if optional:
            return Call(dot.offset, "_?._", None, [node, Literal(name.offset, name.text)])
        if self._token.kind is K.LEFT_PAREN:
            return self._call(name.text, node)
        return Select(dot.offset, node, name.text)

    def _no_viable_alternative(self, start: Token) -> NoReturn:
        token = self._token
        kept = self._source.text[start.offset : token.offset]
        for begin, end in reversed([hole for hole in self._holes if start.offset <= hole[0] < token.offset]):
            kept = kept[: begin - start.offset] + kept[end - start.offset :]
        if kept == "." and token.kind in (K.TRUE, K.FALSE, K.NULL):
            self._mismatch(frozenset({K.IDENTIFIER}))
        shown = visible(kept + ("" if token.kind is K.END else token.text))
        self._report(token.offset, f"Syntax error: no viable alternative at input '{shown}'")
        raise _Abort

    def _index(self, node: Node) -> Node:
        bracket = self._take()
        self._sync(_EXPRESSION | {K.QUESTION})
        optional = self._accept(K.QUESTION)
        index = self.expression()
        self._expect(K.RIGHT_BRACKET)
        return Call(bracket.offset, "_[?_]" if optional else "_[_]", None, [node, index])

    def _call(self, function: str, target: Node | None) -> Node:
        offset = self._take().offset
        args: list[Node] = []
        self._sync(_ARGUMENTS)
        if self._token.kind is not K.RIGHT_PAREN:
            args.append(self.expression())
            while self._accept(K.COMMA):
                args.append(self.expression())
        self._expect(K.RIGHT_PAREN)
        try:
            expanded = expand(offset, function, target, args)
        except MacroError as error:
            self._report(error.offset, error.message)
            return Literal(offset, None)
        return expanded if expanded is not None else Call(offset, function, target, args)

    def _identifier(self) -> Node:
        first = self._token
        dot = "." if self._accept(K.DOT) else ""
        token = self._token
        if token.kind is not K.IDENTIFIER:
            self._no_viable_alternative(first)
        self._take()
        if token.text in _RESERVED:
            self._report(first.offset, f"reserved identifier: {token.text}")
        if self._token.kind is K.LEFT_PAREN:
            return self._call(dot + token.text, None)
        return Ident(token.offset, dot + token.text)

    def _nested(self) -> Node:
        self._take()
        node = self.expression()
        self._expect(K.RIGHT_PAREN)
        return node

    def _list(self) -> Node:
        offset = self._take().offset
        elements: list[Node] = []
        optional: list[int] = []
        self._sync(_ELEMENTS)
        while self._token.kind not in (K.RIGHT_BRACKET, K.COMMA):
            if self._accept(K.QUESTION):
                optional.append(len(elements))
            elements.append(self.expression())
            if not self._comma_before_more(K.RIGHT_BRACKET):
                break
        self._sync(frozenset({K.RIGHT_BRACKET, K.COMMA}))
        self._accept(K.COMMA)
        self._expect(K.RIGHT_BRACKET)
        return ListExpr(offset, elements, frozenset(optional))

    def _comma_before_more(self, closing: TokenKind) -> bool:
        """Consume a comma if something other than the closing bracket follows."""
        if self._token.kind is K.COMMA and self._second() is not closing:
            self._take()
            return True
        return False

    def _map(self) -> Node:
        offset = self._take().offset
        entries: list[Entry] = []
        self._sync(_ENTRIES)
        while self._token.kind not in (K.RIGHT_BRACE, K.COMMA):
            optional = self._accept(K.QUESTION)
            key = self.expression()
            self._expect(K.COLON)
            entries.append(Entry(key, self.expression(), optional))
            if not self._comma_before_more(K.RIGHT_BRACE):
                break
        self._sync(frozenset({K.RIGHT_BRACE, K.COMMA}))
        self._accept(K.COMMA)
        self._expect(K.RIGHT_BRACE)
        return MapExpr(offset, entries)

    def _struct(self, name: str) -> Node:
        offset = self._take().offset
        fields: list[StructField] = []
        self._sync(frozenset({K.RIGHT_BRACE, K.COMMA, K.QUESTION, K.IDENTIFIER, K.ESCAPED_IDENTIFIER}))
        while self._token.kind is not K.RIGHT_BRACE:
            optional = self._accept(K.QUESTION)
            if self._token.kind is K.ESCAPED_IDENTIFIER:
                self._report(self._token.offset, "unsupported syntax: '`'")
                field = self._take()
            else:
                field = self._expect(K.IDENTIFIER)
            colon = self._expect(K.COLON)
            fields.append(StructField(colon.offset, field.text, self.expression(), optional))
            if not self._comma_before_more(K.RIGHT_BRACE):
                break
        self._accept(K.COMMA)
        self._expect(K.RIGHT_BRACE)
        return StructExpr(offset, name, fields)

    def _literal(self) -> Node:
        token = self._take()
        sign = ""
        if token.kind is K.MINUS:
            if self._token.kind not in (K.INT, K.FLOAT):
                self._place -= 1
                self._mismatch(_EXPRESSION - {K.NOT})
            sign, number = "-", self._take()
        else:
            number = token
        try:
            return Literal(token.offset, _VALUES[number.kind](sign + number.text))
        except ValueError as error:
            self._report(token.offset, str(error))
            return Literal(token.offset, None)


_VALUES: dict[TokenKind, Callable[[str], object]] = {
    K.INT: int_value,
    K.UINT: uint_value,
    K.FLOAT: double_value,
    K.STRING: string_value,
    K.BYTES: bytes_value,
    K.TRUE: lambda _: True,
    K.FALSE: lambda _: False,
    K.NULL: lambda _: None,
}
_PRIMARY: dict[TokenKind, Callable[[_Parser], Node]] = {
    **dict.fromkeys(_VALUES, _Parser._literal),  # noqa: SLF001 - the class's own table of productions
    K.MINUS: _Parser._literal,  # noqa: SLF001 - same
    K.IDENTIFIER: _Parser._identifier,  # noqa: SLF001 - same
    K.DOT: _Parser._identifier,  # noqa: SLF001 - same
    K.LEFT_PAREN: _Parser._nested,  # noqa: SLF001 - same
    K.LEFT_BRACKET: _Parser._list,  # noqa: SLF001 - same
    K.LEFT_BRACE: _Parser._map,  # noqa: SLF001 - same
}


def _binds(waiting: TokenKind, kind: TokenKind, rank: int) -> bool:
    """Return whether the pending operator binds before the new one; chains of ``&&`` are kept together."""
    other = _BINARY[waiting][0]
    return other > rank or (other == rank and kind not in _LOGICAL)


def _reduce(operands: list[Node], operators: list[Token]) -> None:
    """Apply the last operator; a whole chain of the same logical operator at once."""
    chain = [operators.pop()]
    kind = chain[0].kind
    while kind in _LOGICAL and operators and operators[-1].kind is kind:
        chain.append(operators.pop())
    terms = operands[-len(chain) - 1 :]
    del operands[-len(chain) - 1 :]
    operands.append(_balanced(_BINARY[kind][1], terms, [token.offset for token in reversed(chain)]))


def _balanced(function: str, terms: Sequence[Node], offsets: Sequence[int]) -> Node:
    """Build a shallow tree of a chain, so that a thousand terms are ten levels deep."""
    if not offsets:
        return terms[0]
    middle = len(offsets) // 2
    left = _balanced(function, terms[: middle + 1], offsets[:middle])
    right = _balanced(function, terms[middle + 1 :], offsets[middle + 1 :])
    return Call(offsets[middle], function, None, [left, right])


def _qualified_name(node: Node) -> str | None:
    """Return ``a.b.C`` if the node is nothing but names."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])

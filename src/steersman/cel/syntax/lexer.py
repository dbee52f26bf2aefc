"""Splits text into tokens.

The longest token wins. Text that is not a token is reported as Kubernetes reports it: from where it began to the
character that made it invalid, and reading continues after it.
"""

import re
from enum import Enum
from typing import NamedTuple

from steersman.cel.errors import Issue


class TokenKind(Enum):
    """The kinds of tokens, in the order in which error messages list them; the value is how they are shown."""

    EQUALS = "'=='"
    NOT_EQUALS = "'!='"
    IN = "'in'"
    LESS = "'<'"
    LESS_EQUALS = "'<='"
    GREATER_EQUALS = "'>='"
    GREATER = "'>'"
    AND = "'&&'"
    OR = "'||'"
    LEFT_BRACKET = "'['"
    RIGHT_BRACKET = "']'"
    LEFT_BRACE = "'{'"
    RIGHT_BRACE = "'}'"
    LEFT_PAREN = "'('"
    RIGHT_PAREN = "')'"
    DOT = "'.'"
    COMMA = "','"
    MINUS = "'-'"
    NOT = "'!'"
    QUESTION = "'?'"
    COLON = "':'"
    PLUS = "'+'"
    STAR = "'*'"
    SLASH = "'/'"
    PERCENT = "'%'"
    TRUE = "'true'"
    FALSE = "'false'"
    NULL = "'null'"
    FLOAT = "NUM_FLOAT"
    INT = "NUM_INT"
    UINT = "NUM_UINT"
    STRING = "STRING"
    BYTES = "BYTES"
    IDENTIFIER = "IDENTIFIER"
    ESCAPED_IDENTIFIER = "ESC_IDENTIFIER"
    END = "<EOF>"


class Token(NamedTuple):
    """A piece of the source; ``text`` is exactly what was written."""

    kind: TokenKind
    text: str
    offset: int


class Tokens(NamedTuple):
    """The tokens of a source, of which the last is the end, and the issues of the rest."""

    tokens: list[Token]
    issues: list[Issue]
    #: Ranges of the source that are not tokens.
    holes: list[tuple[int, int]]


_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_STRING = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r'|[rR]"""[\s\S]*?"""'
    r"|[rR]'''[\s\S]*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
)
_TOKEN = re.compile(
    rf"(?P<SPACE>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESCAPED_IDENTIFIER>`[A-Za-z0-9_./ -]+`)"
    r"|(?P<OPERATOR>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_OPERATORS = {kind.value[1:-1]: kind for kind in TokenKind if kind.value.startswith("'")}
_KEYWORDS = {word: _OPERATORS[word] for word in ("in", "true", "false", "null")}

#: How far a broken token was readable: a string up to its bad escape, a name in back quotes, half of an operator.
_BROKEN = (
    re.compile(rf'"(?:{_ESCAPE}|[^\\"\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|[uU][0-9a-fA-F]{{0,7}}|[0-3][0-7]?)?)?'),
    re.compile(rf"'(?:{_ESCAPE}|[^\\'\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|[uU][0-9a-fA-F]{{0,7}}|[0-3][0-7]?)?)?"),
    re.compile(r"`[A-Za-z0-9_./ -]*"),
    re.compile(r"[&|=]"),
)


def tokenize(text: str) -> Tokens:
    """Split the text; what is not a token becomes an issue and is left out."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    holes: list[tuple[int, int]] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            end = min(_hopeless(text, place) + 1, len(text))
            issues.append(Issue(place, f"Syntax error: token recognition error at: '{visible(text[place:end])}'"))
            holes.append((place, end))
            place = end
            continue
        if match.lastgroup != "SPACE":
            tokens.append(_token(match.lastgroup or "", match[0], place))
        place = match.end()
    tokens.append(Token(TokenKind.END, "<EOF>", len(text)))
    return Tokens(tokens, issues, holes)


def _token(group: str, text: str, offset: int) -> Token:
    if group == "OPERATOR":
        return Token(_OPERATORS[text], text, offset)
    if group == "IDENTIFIER":
        return Token(_KEYWORDS.get(text, TokenKind.IDENTIFIER), text, offset)
    return Token(TokenKind[group], text, offset)


def _hopeless(text: str, place: int) -> int:
    for broken in _BROKEN:
        if (match := broken.match(text, place)) is not None:
            return match.end()
    return place


def visible(text: str) -> str:
    """Write white space so that it can be seen in a message."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")

"""Counts the lines of classes, wherever they are: the definition, and the member functions that are defined outside it.

Not a compiler: it reads namespaces, braces, and the heads before them.
"""

import bisect
import dataclasses
import re

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)")
NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b([\w:\s]*)$|^extern$")
OPERATOR = re.compile(r"\boperator\s*(?:\(\s*\)|[^\s\w(]+|[\w:<>*&\s]+?(?=\())")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
PARENTHESES = re.compile(r"\([^()]*\)")
CLASS = re.compile(
    r"\b(?:class|struct|union)\s+(?:alignas\s*@\s*|\[\[.*?\]\]\s*|[A-Z][A-Z0-9_]+\s+(?=\w))*"
    r"((?:\w+\s*::\s*)*\w+)\s*(?:final\s*)?(?::(?!:).*)?$",
    re.DOTALL,
)
# As plain() leaves them.
MEMBER_FUNCTION = re.compile(r"((?:\w+\s*::\s*)+)~?\s*\w+\s*@")
NO_BODY = re.compile(r"@[\w\s]*=\s*(?:default|delete)$")


@dataclasses.dataclass(frozen=True)
class Definition:
    """Of a class or of a function."""

    is_class: bool
    scope: tuple  # the namespaces around it; one without a name has that of its file
    names: tuple  # a class: the parts of its name; a function: of each class whose member it may be
    path: object
    first: int
    last: int


@dataclasses.dataclass
class ClassLines:
    """A class, where its definition begins, and what belongs to it."""

    name: str
    path: object
    first: int
    lines: int = 0
    paths: set = dataclasses.field(default_factory=set)

    def add(self, definition):
        self.lines += definition.last - definition.first + 1
        self.paths.add(definition.path)


def without_directives(code):
    """Blanks out directives, and of alternatives (#if … #else) all but the first: one is compiled."""
    kept, branches, continued = [], [], False
    for line in code.split("\n"):
        directive = None if continued else DIRECTIVE.match(line)
        word = directive.group(1) if directive else ""
        if word in ("if", "ifdef", "ifndef"):
            branches.append(True)
        elif word.startswith("el") and branches:
            branches[-1] = False
        elif word == "endif" and branches:
            branches.pop()
        kept.append("" if directive or continued or not all(branches) else line)
        continued = bool(directive or continued) and line.endswith("\\")
    return "\n".join(kept)


def replaced(pattern, by, text):
    """Until nothing is left to replace: from the innermost outwards."""
    while True:
        text, changes = pattern.subn(by, text)
        if changes == 0:
            return text


def plain(head):
    """A head with operators as names, without template arguments, and with "@" for all that is in parentheses."""
    head = OPERATOR.sub("operator_", head).replace("->", " ")
    return replaced(TEMPLATE_ARGUMENTS, "", replaced(PARENTHESES, "@", head)).strip()


def parts_of(name):
    return tuple(re.findall(r"\w+", name))


def class_named(head):
    """The parts of the name of the class whose head this is; None: it is none's."""
    bare = plain(head)
    match = CLASS.search(bare)
    if not match or re.match(r"(?:typedef\s+)?enum\b", bare):
        return None
    name = parts_of(match.group(1))
    # Each specialisation of a template is a class of its own.
    special = re.search(
        rf"\b(?:class|struct|union)\s(?:[^:<]|::)*\b{name[-1]}\s*(<.*?>)\s*(?:final\s*)?(?::(?!:).*)?$", head, re.DOTALL
    )
    return (*name[:-1], name[-1] + re.sub(r"\s", "", special.group(1))) if special else name


class Reader:
    """Reads one file's code, in which comments and strings are blanked out, into its definitions."""

    def __init__(self, path, code):
        self.path = path
        self.code = without_directives(code)
        self.line_starts = [match.end() for match in re.finditer(r"\A|\n", self.code)]
        self.scope = []  # the parts of the name of each namespace around what is read
        self.definitions = []
        self.balanced = self.read()

    def read(self):
        """Whether every brace has its other one."""
        begin, offset = 0, 0  # of the head; of the symbol
        while (offset := self.next_symbol(offset, "{};")) is not None:
            symbol, head = self.code[offset], self.code[begin:offset]
            if symbol == ";":
                self.define(begin, offset, head, has_body=False)
            elif symbol == "}":
                if not self.scope:
                    return False
                self.scope.pop()
            elif namespace := NAMESPACE.match(head.strip()):
                name = namespace.group(1)
                self.scope.append(() if name is None else parts_of(name) or (f"({self.path})",))
            else:
                offset = self.end_of_definition(offset)
                if offset is None:
                    return False
                self.define(begin, offset, head, has_body=True)
            offset += 1
            begin = offset
        return not self.scope

    def next_symbol(self, offset, symbols):
        """Where the next of these is that is in no parentheses; None: nowhere."""
        depth = 0
        for found in re.compile(r"[][(){};]").finditer(self.code, offset):
            if depth == 0 and found.group() in symbols:
                return found.start()
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(found.group(), 0)
        return None

    def end_of_block(self, offset):
        depth = 0
        for brace in re.compile("[{}]").finditer(self.code, offset):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                return brace.start()
        return None

    def end_of_definition(self, offset):
        """Of that which has its first brace there. What a constructor initialises with braces comes before its body."""
        while True:
            offset = self.end_of_block(offset)
            if offset is None or not (follows := re.compile(r"\s*[,{]").match(self.code, offset + 1)):
                return offset
            after = self.next_symbol(follows.end() - 1, "{;")
            if after is None or self.code[after] == ";":
                return offset
            offset = after

    def define(self, begin, end, head, has_body):
        name = class_named(head) if has_body else None
        bare = plain(head)
        members = tuple(parts_of(match.group(1)) for match in MEMBER_FUNCTION.finditer(bare))
        if not name and (not members or not (has_body or NO_BODY.search(bare))):
            return
        scope = tuple(part for namespace in self.scope for part in namespace)
        first, last = (bisect.bisect_right(self.line_starts, at) for at in (end - len(self.code[begin:end].lstrip()), end))
        self.definitions.append(Definition(bool(name), scope, name or members, self.path, first, last))


def class_of(name, scope, classes):
    """Which of the classes has this name in this scope, or one of its own has; None: none."""
    for outer in range(len(scope), -1, -1):
        for length in range(len(name), 0, -1):
            key = (*scope[:outer], *name[:length])
            if key in classes:
                return key
    return None


def count(definitions):
    """The classes of all these definitions. What is a class's own (`class A::B`) belongs to it, too."""
    classes = {}
    for found in sorted((one for one in definitions if one.is_class), key=lambda one: len(one.names)):
        key = class_of(found.names[:-1], found.scope, classes) or (*found.scope, *found.names)
        name = "::".join(part for part in key if not part.startswith("("))
        classes.setdefault(key, ClassLines(name, found.path, found.first)).add(found)
    for found in definitions:
        keys = () if found.is_class else (class_of(name, found.scope, classes) for name in found.names)
        key = next((key for key in keys if key), None)
        if key:
            classes[key].add(found)
    return list(classes.values())

"""Bodies that say nothing are left out before a module is parsed, and nothing that is read is in them."""

from __future__ import annotations

import ast

import pytest

from gradcompat.curation.module_outline import outline
from gradcompat.curation.module_reader import KnownPieces, read_module

CLASS = '''class A(Base):
    r"""def not_there(self):
        of a text
    """

    limit = 1  # of what

    def method(self, a: "x: y" = ")", *, b=lambda c: c) -> "Type[int]":
        text = """
    def inner(self):
"""
        return [
            1,
        ]

    # between
    async def other(self): return 1

    @property
    def value(self):
        """Docstring."""

        return 1
'''
SHORT = """class A(Base):
    ""

    limit = 1  # of what

    def method(self, a: "x: y" = ")", *, b=lambda c: c) -> "Type[int]":
     ...
    async def other(self): return 1

    @property
    def value(self):
     ..."""


def test_bodies_and_docstrings_are_left_out() -> None:
    assert outline(CLASS, keeping_lines=False) == SHORT


def test_lines_are_kept_where_they_are_asked_for() -> None:
    short = outline(CLASS, keeping_lines=True)
    lines = {node.name: node.lineno for node in ast.walk(ast.parse(CLASS)) if isinstance(node, ast.FunctionDef)}
    assert {node.name: node.lineno for node in ast.walk(ast.parse(short)) if isinstance(node, ast.FunctionDef)} == lines
    with_import = CLASS + "    from .below import inner\n"
    assert outline(with_import, keeping_lines=False) == outline(with_import, keeping_lines=True)


WARNS = '''def f(new, old=None):
    """Text."""
    if old is not None:
        warn("`old` is depre" "cated, use `new`")
'''


@pytest.mark.parametrize(
    "text",
    [
        'def __getattr__(name):\n    if name == "a":\n        return 1\n    raise AttributeError\n',
        "def forward(self, labels=None):\n    shift_labels = labels[1:]\n",
        "def f():\n    print 'of Python 2'\n",
        "def f():\n    try:\n        pass\n    except A, b:\n        pass\n",
        "class Config:\n    def f(self):\n        return 'allow'\n",
        "class A:\n    @model_validator\n    def f(cls, values):\n        values.pop('old')\n",
        "def f():\n    x = \\",
        'def f():\n    """begins\n',
        "def f(): return 1\n",
    ],
)
def test_what_is_read_stays(text: str) -> None:
    assert outline(text, keeping_lines=False) == text


def test_of_a_body_that_warns_the_docstring_is_left_out() -> None:
    assert outline(WARNS, keeping_lines=False) == WARNS.replace('"""Text."""', '""')


# Each is read in pieces, with outlines, and whole.
MODULES = [
    CLASS,
    WARNS,
    'def f():\n    return """\nclass A:\n    def g(self):\n        pass\n"""\n',
    "def f():\n    return [\nname,\n]\ndef g():\n    x = \\\ny\n",
    "if x:\n    def f(a):\n        pass\n    import late\n    class B:\n        def g(self, b):\n            pass\n",
    "class A:\n    def f(self): ...\n    class Config:\n        extra = 'allow'\nimport os\n",
    "class A:\n    def f(self):\n        x = (\n    1)\n    def g(self, a): ...\n",
    "class A:\n\tdef f(self):\n\t\tpass\n\tdef g(self, a):\n\t\tpass\nx = 1\n",
    "TEXT = '''\ndef not_there():\n    pass\n'''\ndef there(a):\n    '''it's'''\n    pass\n",
    "class A:\n    def f(self,\n        a=1,  # (\n    ):\n        pass\n    from .b import c\n    def g(self): pass\n",
]


@pytest.mark.parametrize("text", MODULES)
def test_a_module_says_the_same_without_them(text: str) -> None:
    known = KnownPieces()
    for source in (text, "\n\n" + text):
        whole = read_module(source.encode(), "one.two", package=False)
        assert read_module(source.encode(), "one.two", package=False, cache=known) == whole


def test_definitions_with_the_same_outline_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def _parse(source: str) -> ast.AST:
        parsed.append(source)
        return compile(source, "x", "exec", ast.PyCF_ONLY_AST)

    monkeypatch.setattr(ast, "parse", _parse)
    known = KnownPieces()
    for body in ("return 1", "return 2\n    return 3", '"""It is new."""'):
        read_module(f"def f(a):\n    {body}\n".encode(), "one", package=False, cache=known)
    assert parsed == ["def f(a):\n ..."]


@pytest.mark.parametrize("body", ["print 'x'", "raise A, 'x'", "exec 'x'"])
def test_python_2_in_a_body_is_seen(body: str) -> None:
    with pytest.raises(ValueError, match="is not Python 3"):
        read_module(f"def f():\n    {body}\n".encode(), "one", package=False, cache=KnownPieces())


def test_a_header_that_does_not_end_as_expected_is_matched_once() -> None:
    """Its comments have one end each: with any, matching would go on for as long as there are ways to end forty."""
    parameters = "".join(f"        a{number}=1,  # what it is, and what it is not\n" for number in range(40))
    text = f"class A:\n    def method(\n        self,\n{parameters}    ): return 1\n"
    assert outline(text, keeping_lines=False) == text

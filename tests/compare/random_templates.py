"""Random chat templates and variables for them: a grammar over Jinja's syntax, filters, tests, globals and Python's methods.

What no two implementations can agree on is left out: addresses (printing functions and generators), random choice, and
integers beyond 64 bits. Kinds are mostly respected, so that most templates render; one choice in twenty ignores them, so
that errors are compared too.
"""

import random
import string

STRINGS = ["", "a", "Hello World", "foo bar  baz", " padded\n", "x,y,,z", "tool_call", "ABC", "éa ß", "日本語 text", "😀!", "line1\nline2\r\nline3",
           "<b>&amp;\"q\"</b>", "it's", "say \"hi\"", "both ' and \"", "back\\slash", "tab\there", "3", "-4", "2.5", "1e3", "0x1f", "1_000", "true",
           "a-b-c", "hello-world foo", "UPPER lower", "{x}", "%s", "ΑΣ", "ǆ", "\u00a0nb\u2003sp", "<think>\nhm\n</think>\n\nok", "k=v;k2=v2"]
NAMES = ["s", "t", "i", "j", "f", "l", "ls", "li", "d", "dd", "b", "n", "u", "messages", "tools", "nested", "mixed"]


def variables(rng):
    text = lambda: rng.choice(STRINGS)
    number = lambda: rng.choice([0, 1, -1, 2, 3, 7, 10, 42, -13, 100, 255])
    real = lambda: rng.choice([0.0, 1.5, -2.5, 0.1, 3.14159, 1e16, 1e-5, 2.0, 100.25, 123456.789, 0.5, -0.0])
    any_value = lambda: rng.choice([text(), number(), real(), True, False, None, [], {}, [number(), text()], {text(): number()}])
    roles = ["system", "user", "assistant", "tool"]
    messages = []
    for _ in range(rng.randint(0, 4)):
        m = {"role": rng.choice(roles), "content": rng.choice([text(), text(), text(), None, [{"type": "text", "text": text()}, {"type": "image"}]])}
        if rng.random() < 0.3:
            m["tool_calls"] = [{"id": "c1", "type": "function", "function": {"name": text() or "f", "arguments": {"x": any_value()}}}]
        if rng.random() < 0.2:
            m["reasoning_content"] = text()
        messages.append(m)
    tools = [{"type": "function", "function": {"name": "get_" + str(k), "description": text(),
              "parameters": {"type": "object", "properties": {"a": {"type": rng.choice(["string", "integer", ["string", "null"]]), "description": text()}}, "required": ["a"]}}}
             for k in range(rng.randint(0, 2))]
    return {
        "s": text(), "t": text(), "i": number(), "j": number(), "f": real(), "b": rng.random() < 0.5, "n": None,
        "l": [any_value() for _ in range(rng.randint(0, 5))], "ls": [text() for _ in range(rng.randint(0, 5))],
        "li": [number() for _ in range(rng.randint(0, 6))],
        "d": {rng.choice(["a", "b", "key", "items", "x y", "Z", "é"]): any_value() for _ in range(rng.randint(0, 4))},
        "dd": [{"name": text(), "age": number(), "tags": [text()], "sub": {"k": number()}} for _ in range(rng.randint(0, 4))],
        "messages": messages, "tools": rng.choice([tools, tools, None]),
        "nested": {"a": {"b": {"c": text()}, "l": [1, [2, 3], {"k": [text()]}]}, "n": None, "t": True, "f": real()},
        "mixed": [1, "1", 1.0, True, None, [1], {"a": 1}, "x"],
    }


class Grammar:
    def __init__(self, rng):
        self.r = rng
        self.depth = 0
        self.locals = []      # names that templates set
        self.macros = []      # (name, parameters)
        self.namespaces = []
        self.in_loop = 0
        self.budget = rng.choice([8, 15, 30, 60])

    # -- helpers
    def pick(self, *choices):
        return self.r.choice(choices)

    def chance(self, p):
        return self.r.random() < p

    def literal_string(self, text=None):
        text = self.r.choice(STRINGS) if text is None else text
        quote = self.pick("'", '"')
        out = ""
        for c in text:
            if c == quote or c == "\\":
                out += "\\" + c
            elif c == "\n":
                out += self.pick("\\n", "\n")
            elif c == "\r":
                out += "\\r"
            elif ord(c) > 127 and self.chance(0.2):
                out += "\\u%04x" % ord(c) if ord(c) < 0x10000 else "\\U%08x" % ord(c)
            elif self.chance(0.02):
                out += "\\x%02x" % ord(c) if ord(c) < 256 else c
            else:
                out += c
        return quote + out + quote

    def small(self):
        return str(self.pick(0, 1, 2, 3, 4, 5, -1, -2, 10))

    # -- expressions by kind
    def expr(self, kind=None):
        if kind is None or self.chance(0.008):
            kind = self.pick("str", "str", "int", "float", "list", "dict", "bool", "any")
        if self.depth > 4 or self.budget <= 0:
            return self.atom(kind)
        self.depth += 1
        self.budget -= 1
        try:
            return getattr(self, "e_" + kind)()
        finally:
            self.depth -= 1

    def atom(self, kind):
        if kind == "str":
            return self.pick(self.literal_string(), "s", "t", self.local("str"))
        if kind == "int":
            return self.pick(self.small(), "i", "j", "i", self.local("int"))
        if kind == "float":
            return self.pick("f", "1.5", "2e3", "0.1", "0.25", "1_0.5", self.local("float"))
        if kind == "list":
            return self.pick("l", "ls", "li", "dd", "[]", "[1, 2, 3]", "messages", "mixed", "(1, 'a')", "()", self.local("list"), self.local("list"))
        if kind == "dict":
            return self.pick("d", "nested", "{}", "{'a': 1, 'b': 'x'}", "nested.a", self.local("dict"))
        if kind == "bool":
            return self.pick("b", "true", "false", "True", "False", self.local("bool"))
        return self.pick("n", "u", "none", "undefined_name", self.local("any"), "b", "l", "s", "i")

    def local(self, kind):
        known = [name for name, k in self.locals if k == kind or kind == "any"]
        return self.r.choice(known) if known else {"str": "s", "int": "i", "float": "f", "list": "l", "dict": "d", "bool": "b"}.get(kind, "s")

    def e_any(self):
        return self.pick(
            lambda: self.atom("any"),
            lambda: f"{self.expr('list')}[{self.expr('int')}]",
            lambda: f"{self.expr('dict')}.{self.pick('a', 'b', 'key', 'zzz', 'items', 'n')}",
            lambda: f"{self.expr('dict')}[{self.expr('str')}]",
            lambda: f"({self.expr()} if {self.expr('bool')} else {self.expr()})",
            lambda: f"({self.expr()} if {self.expr('bool')})",
            lambda: f"({self.expr()} or {self.expr()})",
            lambda: f"({self.expr()} and {self.expr()})",
            lambda: f"{self.expr('list')} | {self.pick('first', 'last', 'min', 'max', 'first')}",
            lambda: f"{self.expr('dict')}.get({self.expr('str')}{self.pick('', ', ' + self.atom('str'))})",
            lambda: f"{self.expr()} | {self.pick('default', 'd')}({self.expr()}{self.pick('', ', true', ', boolean=b')})",
            lambda: f"messages[{self.small()}].{self.pick('role', 'content', 'tool_calls', 'nope')}",
            lambda: f"nested.a.{self.pick('b.c', 'l[1][0]', 'l[2].k', 'zz', 'b[' + repr('c') + ']', 'l.0', 'l.1.1')}",
            lambda: f"{self.expr('list')} | sum({self.pick('', 'start=1', 'start=1.5')})",
            lambda: f"dd | {self.pick('sum', 'min', 'max')}(attribute={self.pick(repr('age'), repr('sub.k'), repr('name'))})",
            lambda: f"{self.expr()} | attr({self.pick(repr('a'), repr('upper'), repr('real'), self.atom('str'))})",
            lambda: f"namespace(a={self.expr()}, b=2).{self.pick('a', 'b', 'c')}",
            lambda: f"dict({self.pick('', 'a=1', 'd', '[(1, 2)]', 'd, z=3')}).{self.pick('a', 'z', 'key')}",
            lambda: f"(cycler({self.expr()}, 2)).{self.pick('current', 'next()', 'items')}",
            lambda: f"loop.{self.pick('index', 'index0', 'first', 'last', 'length', 'revindex', 'revindex0', 'depth', 'depth0', 'previtem', 'nextitem')}" if self.in_loop else "i",
            lambda: f"loop.{self.pick('cycle', 'changed')}({self.expr()}{self.pick('', ', 2')})" if self.in_loop else "j",
            lambda: self.call_macro(),
            lambda: f"{self.r.choice(self.namespaces)}.{self.pick('x', 'y', 'z')}" if self.namespaces else "u",
        )()

    def call_macro(self):
        if not self.macros:
            return "s"
        name, parameters = self.r.choice(self.macros)
        arguments = [self.expr() for _ in range(self.r.randint(0, len(parameters)))]
        if self.chance(0.3) and parameters:
            arguments.append(f"{self.r.choice(parameters)}={self.expr()}")
        if self.chance(0.1):
            arguments.append(f"extra={self.expr()}")
        if self.chance(0.08):
            arguments.append(self.pick("*l", "**d", "*[1, 2]", "**{'q': 1}"))
        return f"{name}({', '.join(arguments)})"

    def e_str(self):
        e = self.expr
        method = lambda m, *a: f"{self.postfix_target(e('str'))}.{m}({', '.join(a)})"
        return self.pick(
            lambda: self.atom("str"), lambda: self.atom("str"),
            lambda: self.literal_string() + " " + self.literal_string(),
            lambda: f"{e('str')} ~ {e()}{self.pick('', ' ~ ' + self.atom('int'))}",
            lambda: f"({e('str')} + {e('str')})",
            lambda: f"({e('str')} * {self.pick('0', '1', '2', '3')})",
            lambda: f"({self.percent()})",
            lambda: self.format_call(),
            lambda: method(self.pick("upper", "lower", "title", "capitalize", "swapcase", "casefold")),
            lambda: method(self.pick("strip", "lstrip", "rstrip"), *self.pick([], [self.atom("str")], ["' \\n'"], ["none"])),
            lambda: method("replace", e("str"), e("str"), *self.pick([], ["1"], ["-1"], ["0"])),
            lambda: method("join", self.pick("ls", "['a', 'b']", "s", e("list") + " | map('string')", "l")),
            lambda: method(self.pick("center", "ljust", "rjust"), self.small(), *self.pick([], ["'*'"], ["'é'"])),
            lambda: method("zfill", self.small()),
            lambda: method(self.pick("removeprefix", "removesuffix"), self.atom("str")),
            lambda: method("expandtabs", *self.pick([], ["4"], ["0"])),
            lambda: f"{self.postfix_target(e('str'))}.{self.pick('split', 'rsplit')}({self.pick('', repr(','), repr(' '), 'none, 1', 'maxsplit=1', 'sep=' + repr('o') + ', maxsplit=2')})[{self.pick('0', '-1', '1')}]",
            lambda: f"{self.postfix_target(e('str'))}.{self.pick('partition', 'rpartition')}({self.pick(repr(','), repr('</think>'), repr('o'))})[{self.pick('0', '2', '-1')}]",
            lambda: f"{self.postfix_target(e('str'))}{self.slice()}",
            lambda: f"{self.postfix_target(e('str'))}[{e('int')}]",
            lambda: f"{e('str')} | {self.string_filter()}",
            lambda: f"{e('str')} | {self.string_filter()}",
            lambda: f"{e()} | {self.pick('string', 'string | length', 'tojson', 'tojson(indent=2)', 'tojson(sort_keys=true)', 'tojson(ensure_ascii=true)', 'tojson(separators=(' + repr(',') + ', ' + repr(':') + '))', 'pprint', 'e', 'escape', 'forceescape', 'safe', 'urlencode')}",
            lambda: f"{e('list')} | join({self.pick('', repr(', '), self.atom('str'), 'd=' + repr('-'), repr(',') + ', attribute=' + repr('name'))})",
            lambda: f"{e('dict')} | {self.pick('xmlattr', 'tojson', 'string', 'xmlattr(false)', 'urlencode', 'pprint')}",
            lambda: f"{self.atom(self.pick('int', 'float'))} | {self.pick('filesizeformat', 'filesizeformat(true)', 'string')}",
            lambda: f"strftime_now({self.pick(repr('%Y-%m-%d'), repr('%d %b %Y'), repr('%H:%M:%S %p %j %%'), repr('%A, %B %e'), repr('%y %m %I é'))})",
            lambda: f"(caller() if caller is defined else 'nc')",
            lambda: f"(joiner({self.pick('', repr('|'))})() ~ 'j')",
        )()

    def postfix_target(self, text):
        simple = text.replace("_", "").isalnum() and not text[0].isdigit()
        return text if simple or (text[0] in "'\"" and text.count(text[0]) == 2 and text[-1] == text[0]) else f"({text})"

    def slice(self):
        part = lambda: self.pick("", "", self.small(), self.small(), "none" if self.chance(0.1) else "1", "i" if self.chance(0.3) else "2")
        return f"[{part()}:{part()}{self.pick('', '', ':' + self.pick('', '1', '-1', '2', '-2', '0' if self.chance(0.1) else '3'))}]"

    def percent(self):
        return self.pick(
            lambda: f"'%s and %s' % ({self.expr()}, {self.expr()})",
            lambda: f"'<%s>' % {self.atom(self.pick('str', 'int', 'any', 'float'))}",
            lambda: f"'%{self.pick('', '-', '0', '+', ' ', '#')}{self.pick('', '5', '8')}{self.pick('d', 'x', 'X', 'o', 'i')}' % {self.expr('int')}",
            lambda: f"'%{self.pick('', '-', '0', '+', ' ', '#')}{self.pick('', '5', '10')}{self.pick('', '.0', '.2', '.5')}{self.pick('f', 'e', 'g', 'E', 'G')}' % {self.expr(self.pick('float', 'int'))}",
            lambda: f"'%{self.pick('', '-')}{self.pick('', '3', '12')}{self.pick('', '.2')}{self.pick('s', 'r', 'a')}' % {self.expr('str')}",
            lambda: f"'%(a)s-%(b)s%%' % {self.pick('d', '{' + repr('a') + ': 1, ' + repr('b') + ': s}')}",
            lambda: f"'%c%c' % ({self.pick('65', repr('z'), '8364')}, 'q')",
            lambda: f"'%*d|%.*f' % (5, {self.expr('int')}, 2, {self.expr('float')})",
        )()

    def format_call(self):
        spec = lambda: self.pick("", ":>8", ":<8", ":^8", ":*^9", ":5", "!r", "!s:>6", "!a", ":.3", ":é<4")
        number = lambda: self.pick("", ":d", ":5d", ":05d", ":+d", ":x", ":#x", ":b", ":o", ":,", ":_", ":.2f", ":8.3f", ":e", ":g", ":%", ":>6", ":<6", ":^7", ": d", ":=+6", ":010,", ":#b", ":n", ":c" if self.chance(0.1) else ":d", ":,.2f", ":08.2f", ":.3", ":.0f", ":G", ":_x")
        return self.pick(
            lambda: f"'{{{spec()}}}|{{}}'.format({self.expr('str')}, {self.expr()})",
            lambda: f"'{{{number()}}}'.format({self.expr('int')})",
            lambda: f"'{{{number()}}}'.format({self.expr('float')})",
            lambda: f"'{{0}}{{1}}{{0}}'.format({self.expr()}, {self.expr()})",
            lambda: f"'{{x}}-{{y{spec()}}}'.format(x={self.expr()}, y={self.expr('str')})",
            lambda: f"'{{0[a]}}{{0.b}}'.format({self.expr('dict')})",
            lambda: f"'{{:{{}}}}|'.format({self.atom('str')}, {self.pick('5', repr('>4'), '10')})",
            lambda: f"'{{{{literal}}}} {{}}'.format({self.expr()})",
            lambda: f"'{{a}}'.format_map({self.pick('d', '{' + repr('a') + ': 1}')})",
            lambda: f"'%s, %s!' | format({self.expr()}, {self.expr()})",
            lambda: f"'%(a)s' | format(a={self.expr()})",
        )()

    def string_filter(self):
        e = self.expr
        return self.pick(
            "upper", "lower", "title", "capitalize", "trim", f"trim({self.atom('str')})", "length | string", "wordcount | string", "reverse", "string", "safe", "e",
            f"replace({self.atom('str')}, {self.atom('str')}{self.pick('', ', 1')})", f"indent({self.pick('', '2', '2, true', 'first=true', 'blank=true, width=1', repr('> ') )})",
            f"truncate({self.pick('', '5', '5, true', '9, false, ' + repr('…') + ', 0', 'length=4, leeway=0')})", f"wordwrap({self.pick('', '5', '10, false', '4, true, ' + repr('|'), 'width=6, break_on_hyphens=false')})",
            f"center({self.pick('', '10', '11')})", "striptags", "urlencode", "xmlattr" if self.chance(0.1) else "upper", "first", "last", "list | join('.')", f"default({e('str')})", "forceescape",
            f"center(20) | trim", "lower | title", "escape | upper", "map('upper') | join", "select('ne', 'a') | join", "unique | join", "sort | join", "batch(3) | map('join') | join('/')", "int | string", "float | string")

    def e_int(self):
        e = self.expr
        return self.pick(
            lambda: self.atom("int"), lambda: self.atom("int"),
            lambda: f"({e('int')} {self.pick('+', '-', '*', '//', '%')} {e('int')})",
            lambda: f"({self.atom('int')} ** {self.pick('0', '1', '2', '3', '-1')})",
            lambda: f"{self.pick('-', '+', '- -')}{self.pick('i', '3', '(' + self.atom('int') + ')')}",
            lambda: f"{e('list')} | {self.pick('length', 'count')}",
            lambda: f"{e('str')} | {self.pick('length', 'wordcount', 'int', 'int(7)', 'int(base=16)', 'int(5, 8)', 'int(default=-1)')}",
            lambda: f"{e('float')} | {self.pick('int', 'round | int', 'abs | int')}",
            lambda: f"{e('int')} | {self.pick('abs', 'int', 'round')}",
            lambda: f"{self.postfix_target(e('str'))}.{self.pick('find', 'rfind', 'count', 'find', 'rfind', 'index')}({self.atom('str')}{self.pick('', ', 1', ', 0, 3', ', -2')})",
            lambda: f"{self.postfix_target(e('list'))}.{self.pick('count', 'count', 'count', 'index')}({self.atom('any')})",
            lambda: f"({e('int')} if {e('bool')} else {e('int')})",
            lambda: f"i.{self.pick('bit_length()', 'real', 'numerator', 'conjugate()')}",
        )()

    def e_float(self):
        e = self.expr
        return self.pick(
            lambda: self.atom("float"), lambda: self.atom("float"),
            lambda: f"({e(self.pick('float', 'int'))} {self.pick('+', '-', '*', '/', '//', '%')} {e('float')})",
            lambda: f"({e('int')} / {e('int')})",
            lambda: f"{e('float')} | round({self.pick('', '1', '2', '0, ' + repr('ceil'), '1, ' + repr('floor'), 'precision=1', '-1', 'method=' + repr('ceil'))})",
            lambda: f"{e('str')} | float{self.pick('', '(1.5)', '(default=2)')}",
            lambda: f"{e('float')} | abs",
            lambda: f"-{self.pick('f', '1.5')}",
            lambda: f"({self.atom('float')} ** {self.pick('2', '-1', '3')})",
        )()

    def e_list(self):
        e = self.expr
        attribute = lambda: self.pick("'name'", "'age'", "'sub.k'", "'tags.0'", "'nope'", "'tags'", "0", "'0'")
        return self.pick(
            lambda: self.atom("list"), lambda: self.atom("list"),
            lambda: f"[{', '.join(e() for _ in range(self.r.randint(0, 4)))}{self.pick('', ',') if self.chance(0.1) else ''}]",
            lambda: f"({e()}, {e()})",
            lambda: f"({e('list')} + {e('list')})",
            lambda: f"({self.atom('list')} * {self.pick('0', '1', '2')})",
            lambda: f"{self.postfix_target(e('list'))}{self.slice()}",
            lambda: f"range({self.pick('3', '0, 5', '5, 0, -2', '1, 10, 3', e('int'), '2, ' + self.atom('int'))}) | list",
            lambda: f"{e('list')} | {self.pick('sort', 'reverse | list', 'unique | list', 'list', 'sort(reverse=true)', 'sort(case_sensitive=true)', 'unique(case_sensitive=true) | list')}",
            lambda: f"{self.pick('ls', 'li', 'l')} | {self.pick('sort', 'sort(reverse=true)', 'unique | list', 'reverse | list', 'min', 'max')}",
            lambda: f"dd | {self.pick('sort', 'unique')}(attribute={self.pick(repr('age'), repr('name'), repr('age,name'), repr('sub.k'))}) | list",
            lambda: f"dd | map(attribute={attribute()}{self.pick('', ', default=0')}) | list",
            lambda: f"{e('list')} | map({self.pick(repr('string'), repr('upper'), repr('length'), repr('default') + ', 1', repr('int'), repr('tojson'), repr('e'), repr('first'), repr('replace') + ', ' + repr('a') + ', ' + repr('b'), repr('bogus') if self.chance(0.1) else repr('trim'))}) | list",
            lambda: f"{e('list')} | {self.pick('select', 'reject')}({self.pick('', repr('string'), repr('number'), repr('defined'), repr('equalto') + ', 1', repr('in') + ', [1, 2]', repr('odd'), repr('mapping'), repr('none'), repr('gt') + ', 1', repr('eq') + ', s')}) | list",
            lambda: f"{self.pick('dd', 'messages', 'tools', 'mixed')} | {self.pick('selectattr', 'rejectattr')}({attribute()}{self.pick('', ', ' + repr('string'), ', ' + repr('equalto') + ', 1', ', ' + repr('gt') + ', 0', ', ' + repr('defined'), ', ' + repr('==') + ', ' + repr('user'))}) | list",
            lambda: f"messages | selectattr('role', 'equalto', {self.pick(repr('user'), repr('system'))}) | list",
            lambda: f"{e('list')} | {self.pick('batch', 'slice')}({self.pick('2', '3', '2, ' + repr('x'), '0' if self.chance(0.1) else '1')}) | list",
            lambda: f"dd | groupby({self.pick(repr('age'), repr('name'), repr('sub.k'), repr('nope') + ', default=' + repr('q'))}) | list",
            lambda: f"{e('dict')} | {self.pick('dictsort', 'dictsort(true)', 'dictsort(by=' + repr('value') + ')', 'items | list', 'list', 'dictsort(reverse=true)')}",
            lambda: f"{self.postfix_target(e('dict'))}.{self.pick('items', 'keys', 'values')}(){self.pick('', ' | list')}",
            lambda: f"{self.postfix_target(e('str'))}.{self.pick('split', 'rsplit')}({self.pick('', repr(','), repr(chr(10)), repr(' ') + ', 1', 'none', 'maxsplit=1')})",
            lambda: f"{self.postfix_target(e('str'))}.splitlines({self.pick('', 'true', 'keepends=true')})",
            lambda: f"{self.postfix_target(e('str'))}.partition({self.atom('str')})",
            lambda: f"{e('str')} | list",
            lambda: f"{self.postfix_target(e('list'))}.copy()",
        )()

    def e_dict(self):
        e = self.expr
        return self.pick(
            lambda: self.atom("dict"), lambda: self.atom("dict"),
            lambda: "{" + ", ".join(f"{self.pick(self.literal_string(), self.atom('int'), self.literal_string(), 'none', 'true', '1.0', '(1, 2)')}: {e()}" for _ in range(self.r.randint(0, 4))) + "}",
            lambda: f"dict({self.pick('', 'd', 'd.items()')}**{{'z': {e()}}})" if self.chance(0.2) else f"dict(a={e()}, b={e()})",
            lambda: f"dict({self.pick('d', 'nested', '[(' + repr('a') + ', 1)]')}, q={e()})",
            lambda: f"{self.postfix_target(self.atom('dict'))}.copy()",
            lambda: f"({e('dict')} if {e('bool')} else {e('dict')})",
            lambda: "nested.a.b", lambda: "dd[0]", lambda: "messages[0]",
        )()

    def e_bool(self):
        e = self.expr
        return self.pick(
            lambda: self.atom("bool"),
            lambda: f"not {self.pick(self.atom('any'), '(' + e() + ')')}",
            lambda: f"({e(k := self.pick('int', 'float', 'str', 'any', 'list'))} {self.pick('==', '!=')} {e(k)})",
            lambda: f"({e(k := self.pick('int', 'float', 'str'))} {self.pick('<', '<=', '>', '>=', '==', '!=')} {e(k)})",
            lambda: f"({self.atom('int')} {self.pick('<', '<=')} {self.atom('int')} {self.pick('<', '!=', '>=')} {self.atom('int')})",
            lambda: f"({e()} {self.pick('in', 'not in')} {e(self.pick('list', 'dict', 'str'))})",
            lambda: f"({e('str')} in {e('str')})",
            lambda: f"({e()} is {self.pick('', 'not ')}{self.test()})",
            lambda: f"({e()} is {self.pick('', 'not ')}{self.test()})",
            lambda: f"({e(self.pick('int', 'float', 'dict', 'str'))} is {self.pick('', 'not ')}{self.test()})",
            lambda: f"({e('bool')} {self.pick('and', 'or')} {e('bool')})",
            lambda: f"{self.postfix_target(e('str'))}.{self.pick('startswith', 'endswith')}({self.pick(self.atom('str'), '(' + repr('a') + ', s)', '()', self.atom('str') + ', 1', self.atom('str') + ', 0, 2')})",
            lambda: f"{self.postfix_target(e('str'))}.{self.pick('isdigit', 'isalpha', 'isupper', 'islower', 'isspace', 'isalnum', 'istitle', 'isnumeric', 'isdecimal', 'isidentifier', 'isascii', 'isprintable')}()",
            lambda: "f.is_integer()",
            lambda: f"({self.pick('l', 'ls', 'li')} {self.pick('==', '!=', '<', '>')} {self.pick('l', 'ls', 'li', '[1, 2]')})",
        )()

    def test(self):
        return self.pick(
            "defined", "undefined", "none", "string", "number", "integer", "integer", "float", "boolean", "mapping", "mapping", "sequence", "iterable", "true", "false", "callable", "escaped", "lower", "upper",
            "odd", "even", f"divisibleby {self.pick('2', '3', '(2)')}", f"divisibleby({self.small()})", f"eq {self.atom('int')}", f"equalto({self.atom('str')})", f"ne({self.atom('int')})",
            f"gt {self.pick('1', '0.5')}", f"lt({self.atom('int')})", f"ge 2", f"le(3)", f"in [1, 'a', none]", f"in({self.atom('list')})", f"sameas {self.pick('none', 'true', 'false')}",
            "filter", "test", "greaterthan 1", "greaterthan(0)", "lessthan(2)", "bogus" if self.chance(0.02) else "defined")

    # -- statements
    def sign(self):
        return self.pick("", "", "", "", "-", "-", "+")

    def tag(self, body):
        end = self.pick("", "", "", "", "-", "-", "+")
        return f"{{%{self.sign()} {body} {end}%}}"

    def data(self):
        return self.pick("\n", "text", " ", "  \n  ", "a\n\nb", "\t", "<|im_start|>", "é", "\n\n", "{ }", "#", "%", "x\n", "  ")

    def out(self):
        end = self.pick("", "", "", "-")
        return f"{{{{{self.pick('', '', '', '-', '+')} {self.expr()} {end}}}}}"

    def block(self, depth=0):
        return "".join(self.statement(depth) for _ in range(self.r.randint(1, 4)))

    def new_local(self, kind):
        # A name mostly keeps to one kind, so that what is made of it mostly renders.
        return kind[0] + self.pick("1", "2") if self.chance(0.9) else self.pick("s1", "v1", "v2")

    def statement(self, depth):
        if depth > 3 or self.budget <= 0:
            return self.pick(self.data, self.out)()
        kinds = [self.data] * 4 + [self.out] * 6 + [lambda: self.s_if(depth)] * 3 + [lambda: self.s_for(depth)] * 3 + [lambda: self.s_set(depth)] * 4
        kinds += [lambda: self.s_with(depth), lambda: self.s_macro(depth), lambda: self.s_call(depth), lambda: self.s_call(depth), lambda: self.s_filter(depth), self.s_namespace, self.s_comment, self.s_raw,
                  lambda: self.s_generation(depth), lambda: self.s_recursive(depth), self.s_print]
        if self.in_loop:
            kinds += [self.s_loop_control] * 2
        return self.r.choice(kinds)()

    def s_if(self, depth):
        text = self.tag(f"if {self.expr(self.pick('bool', 'bool', None))}") + self.block(depth + 1)
        for _ in range(self.pick(0, 0, 1, 2)):
            text += self.tag(f"elif {self.expr('bool')}") + self.block(depth + 1)
        if self.chance(0.5):
            text += self.tag("else") + self.block(depth + 1)
        return text + self.tag("endif")

    def s_for(self, depth):
        target, iterable = self.pick(
            ("x", self.expr("list")), ("x", self.expr("list")), ("m", "messages"), ("k, v", f"{self.expr('dict')}.items()"), ("k, v", "d | dictsort"), ("x", "range(3)"), ("x", self.expr("str")),
            ("a, b", "[(1, 2), (3, 4)]"), ("x", "none" if self.chance(0.1) else "l"), ("x", "u"), ("a, (b, c)", "[(1, (2, 3))]"), ("x", "nested"), ("x", "ls | map('upper')"), ("g, items", "dd | groupby('age')"),
            ("x", "1, 2, 3"), ("x", "dd"))
        names = target.replace("(", "").replace(")", "").replace(" ", "").split(",")
        saved = list(self.locals)
        self.locals += [(n, 'any') for n in names]
        condition = f" if {self.expr('bool')}" if self.chance(0.2) else ""
        head = self.tag(f"for {target} in {iterable}{condition}")
        self.in_loop += 1
        body = self.block(depth + 1)
        self.in_loop -= 1
        self.locals = saved
        if self.chance(0.2):
            body += self.tag("else") + self.block(depth + 1)
        return head + body + self.tag("endfor")

    def s_recursive(self, depth):
        return (self.tag("for x in [1, [2, [3]], []] recursive") + self.pick("{{ loop.depth }}", "{{ loop.index }}", "", "{{ loop.length }}{{ loop.last }}") +
                self.pick("{% if x is sequence %}[{{ loop(x) }}]{% else %}{{ x }}{% endif %}", "{{ loop(x) if x is iterable else x }}", "{{ loop(x) if x }}") + self.tag("endfor"))

    def s_loop_control(self):
        control = self.pick("break", "continue")
        return self.pick(self.tag(control) if self.chance(0.2) else "", self.tag(f"if {self.expr('bool')}") + self.tag(control) + self.tag("endif"), self.tag("if loop.index > 1") + self.tag(control) + self.tag("endif"))

    def s_set(self, depth):
        choice = self.r.random()
        if choice < 0.65:
            kind = self.pick("str", "int", "float", "list", "dict", "bool", "any")
            name = self.new_local(kind)
            text = self.tag(f"set {name} = {self.expr(kind)}")
        elif choice < 0.8:
            kind = "any"
            name = self.new_local("any")
            text = self.tag(f"set {name}{self.pick('', '', ' | upper', ' | trim | length', ' | replace(' + repr('a') + ', ' + repr('b') + ')')}") + self.block(depth + 1) + self.tag("endset")
        elif choice < 0.9:
            kind, name = "any", "v5"
            text = self.tag(f"set v5, v6 = {self.pick('1, 2', '(s, i)', self.expr('list'), repr('ab'))}")
        else:
            return self.tag(f"set {self.r.choice(self.namespaces)}.{self.pick('x', 'y')} = {self.expr()}") if self.namespaces else ""
        self.locals.append((name, kind))
        return text

    def s_namespace(self):
        name = self.pick("ns", "ns2")
        self.namespaces.append(name)
        return self.tag(f"set {name} = namespace({self.pick('', 'x=' + self.expr(), 'x=0, y=' + self.expr(), '{' + repr('x') + ': 1}', 'd' if self.chance(0.2) else 'x=1')})")

    def s_with(self, depth):
        assigns = self.pick("v1 = " + self.expr(), "v1 = 1, v2 = " + self.expr(), "", "v1, v2 = (1, 2)" if self.chance(0.2) else "v3 = s")
        saved = list(self.locals)
        self.locals += [("v1", "any")]
        text = self.tag(f"with {assigns}") + self.block(depth + 1) + self.tag("endwith")
        self.locals = saved
        return text

    def s_macro(self, depth):
        name = self.pick("m1", "m2", "m3")
        parameters = self.pick([], ["p"], ["p", "q"], ["p", "q", "r"])
        defaults = self.r.randint(0, len(parameters))
        signature = ", ".join(p + (f"={self.expr()}" if k >= len(parameters) - defaults else "") for k, p in enumerate(parameters))
        saved = (list(self.locals), self.in_loop, list(self.macros))
        self.locals += [(p, 'any') for p in parameters]
        self.in_loop = 0
        self.macros = []
        body = self.block(depth + 1) + self.pick("", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller() if caller }}", "{{ caller('z') if caller is defined }}")
        self.locals, self.in_loop, self.macros = saved
        self.macros.append((name, parameters))
        return self.tag(f"macro {name}({signature})") + body + self.tag("endmacro") + self.pick("", f"{{{{ {name}.name }}}}", f"{{{{ {name}.arguments }}}}") + self.pick("", f"{{{{ {self.call_macro()} }}}}")

    def s_call(self, depth):
        if not self.macros:
            return ""
        saved = (list(self.locals), self.in_loop)
        self.in_loop = 0
        parameters = self.pick("", "", "(w)", "(w='d')")
        if parameters:
            self.locals.append(("w", "any"))
        body = self.block(depth + 1)
        self.locals, self.in_loop = saved
        return self.tag(f"call{parameters} {self.call_macro()}") + body + self.tag("endcall")

    def s_filter(self, depth):
        return self.tag(f"filter {self.pick('upper', 'trim', 'indent(2)', 'replace(' + repr('a') + ', s)', 'title | trim', 'length', 'tojson', 'e')}") + self.block(depth + 1) + self.tag("endfilter")

    def s_generation(self, depth):
        saved = self.in_loop
        if self.chance(0.9):
            self.in_loop = 0
        text = self.tag("generation") + self.block(depth + 1) + self.tag("endgeneration")
        self.in_loop = saved
        return text

    def s_print(self):
        return self.tag(f"print {self.expr()}{self.pick('', ', ' + self.expr())}")

    def s_comment(self):
        text = self.pick("note", "{{ x }}", "multi\nline", "")
        return "{#" + self.sign() + " " + text + " " + self.pick("", "-", "+") + "#}"

    def s_raw(self):
        text = self.pick("{{ x }}", "  {% if %}", "\n a \n", "")
        return "{%" + self.sign() + " raw " + self.pick("", "-") + "%}" + text + "{%" + self.sign() + " endraw " + self.pick("", "-", "+") + "%}"


class Scopes:
    """Templates about nothing but what a name means: few names, set and read in every kind of scope."""

    NAMES = ["a", "b", "c"]

    def __init__(self, rng):
        self.r = rng
        self.budget = rng.choice([6, 12, 25])
        self.loops = 0

    def name(self):
        return self.r.choice(self.NAMES)

    def value(self):
        return self.r.choice(["1", "2", "'x'", "i", self.name(), f"{self.name()} ~ 1", f"{self.name()} | default('-')", f"({self.name()} if {self.name()} else 0)"])

    def read(self):
        return "{{ %s }}" % self.r.choice([self.name(), self.name(), f"{self.name()} is defined", f"m({self.name()})", "m()", "loop.index if loop is defined", "ns.v"])

    def body(self, depth):
        return "".join(self.statement(depth) for _ in range(self.r.randint(1, 4)))

    def statement(self, depth):
        self.budget -= 1
        if depth > 4 or self.budget < 0:
            return self.read() + "."
        inner = lambda: self.body(depth + 1)
        name = self.name
        choices = [self.read] * 5 + [lambda: "{%% set %s = %s %%}" % (name(), self.value())] * 5
        choices += [
            lambda: "{% if " + self.value() + " %}" + inner() + self.r.choice(["", "{% else %}" + inner(), "{% elif " + name() + " %}" + inner()]) + "{% endif %}",
            lambda: "{% if " + self.value() + " %}" + inner() + "{% endif %}",
            lambda: self.loop(depth), lambda: self.loop(depth),
            lambda: "{% with " + name() + " = " + self.value() + self.r.choice(["", ", d = " + self.value()]) + " %}" + inner() + "{% endwith %}",
            lambda: "{% macro m(" + self.r.choice(["p", "p=" + name(), name() + "=" + self.value(), "p, " + name() + "=" + name()]) + ") %}[" + self.isolated(depth) + "]{% endmacro %}",
            lambda: "{% call" + self.r.choice(["", "(" + name() + "='w')"]) + " m(" + self.r.choice(["", name()]) + ") %}" + self.isolated(depth) + "{% endcall %}",
            lambda: "{% macro w() %}<{{ caller(" + self.r.choice(["", "5"]) + ") }}>{% endmacro %}{% call" + self.r.choice(["", "(" + name() + "=0)"]) + " w() %}" + self.isolated(depth) + "{% endcall %}",
            lambda: "{% filter upper %}" + inner() + "{% endfilter %}",
            lambda: "{% set " + name() + " %}" + inner() + "{% endset %}",
            lambda: "{% set " + name() + ", " + name() + " = (" + self.value() + ", " + self.value() + ") %}",
            lambda: "{% generation %}" + self.isolated(depth) + "{% endgeneration %}",
            lambda: "{% set ns = namespace(v=" + self.value() + ") %}", lambda: "{% set ns.v = " + self.value() + " %}",
        ]
        if self.loops:
            choices += [lambda: "{% if " + self.r.choice(["loop.index > 1", name(), "true"]) + " %}{% " + self.r.choice(["break", "continue"]) + " %}{% endif %}"]
        return self.r.choice(choices)()

    def isolated(self, depth):
        loops, self.loops = self.loops, 0
        text = self.body(depth + 1)
        self.loops = loops
        return text

    def loop(self, depth):
        target, items = self.r.choice([(self.name(), "[1, 2]"), (self.name(), "'ab'"), (self.name(), f"[{self.name()}, {self.name()}]"), (self.name(), "[]"),
                                       (self.name() + ", " + self.name(), "[(1, 2), 'xy']"), (self.name(), self.name() if self.r.random() < 0.1 else "range(3)")])
        head = "{% for " + target + " in " + items
        head += self.r.choice(["", "", " if " + self.value()]) + self.r.choice(["", "", "", " recursive"]) + " %}"
        self.loops += 1
        text = head + self.body(depth + 1)
        self.loops -= 1
        return text + self.r.choice(["", "{% else %}" + self.body(depth + 1)]) + "{% endfor %}"


def scoped(rng):
    scopes = Scopes(rng)
    prefix = "{% macro m(p='q') %}[{{ p }}{{ a }}]{% endmacro %}{% set ns = namespace(v=0) %}" if rng.random() < 0.95 else ""
    return prefix + "".join(scopes.statement(0) for _ in range(rng.randint(2, 6))) + "{{ a }}{{ b }}{{ c }}"


def template(rng):
    if rng.random() < 0.2:
        return scoped(rng)
    grammar = Grammar(rng)
    text = "".join(grammar.statement(0) for _ in range(rng.randint(1, 5)))
    if rng.random() < 0.02:  # damaged somewhere
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(string.punctuation) + text[at:]
    return text

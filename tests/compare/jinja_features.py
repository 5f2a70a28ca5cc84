"""Small templates, one for each feature and corner of Jinja, with what Jinja2 makes of them.

usage: python tests/compare/jinja_features.py FILE

Writes a JSON line {"template", "variables", "rendered" | "error"} for each: the golden data of src/chat's tests.
"""
import json
import sys
import warnings

import jinja_random

VARIABLES = {
    "s": "Hello, World", "n": None, "i": 7, "f": 2.5, "t": True, "e": "", "u8": "naïve ß 日本 😀",
    "l": [3, 1, 2], "w": ["b", "A", "c"], "d": {"b": 1, "a": [1, 2], "items": 5}, "nest": {"a": {"b": [10, {"c": "x"}]}},
    "users": [{"name": "Bob", "age": 30, "city": {"zip": "2"}}, {"name": "al", "age": 25, "city": {"zip": "1"}}, {"name": "Cy", "age": 30}],
    "messages": [{"role": "system", "content": "Be."}, {"role": "user", "content": " Hi \n"}, {"role": "assistant", "content": None}],
}

TEMPLATES = r"""
{{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ 2 ** -1 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 / 3 }} {{ 10 / 2 }}
{{ 1 + (2 ~ 3)|int + 4 }} {{ 1 ~ 2 * 3 }} {{ not true == false }} {{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 == 1.0 == true }}
{{ 1e16 }} {{ 1e15 }} {{ 123456789012345678 }} {{ 1.0 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 1e-4 }} {{ 1e22 }} {{ -0.0 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }} {{ 1e999 }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1_0.5e1_0 }}
{{ 'a' 'b' "c" }} {{ 'it\'s' }} {{ "\x41\u00e9\U0001F600\101\n\t\\" }} {{ '\d \é' }} {{ '\N{LATIN SMALL LETTER A}' }}
{{ ['it\'s', "q\"", 'both\'"', 'n\n\t\\', '\x00\x7f\xa0\u200b\ue000é'] }} {{ {1: none, 'a': (1,), true: ()} }} {{ (1, 2) }} {{ [] }} {{ {} }} {{ 1, }}
{{ none }} {{ true }} {{ missing }} {{ missing is defined }} {{ missing == other }} {{ [missing] }} {{ missing|list }} {{ missing|length }} {{ missing ~ 'x' }}
{{ missing.x }}
{{ missing + 1 }}
{{ missing() }}
{{ s[0] }} {{ s[-1] }} {{ s[1:4] }} {{ s[::-1] }} {{ s[10:2:-3] }} {{ s[:100] }} {{ u8[6] }} {{ u8[-1] }} {{ u8[::2] }} {{ l[1:] }} {{ l[::-1] }} {{ range(10)[2:8:2] }} {{ (1,2,3)[:2] }}
{{ s[99] }}|{{ l['x'] }}|{{ d['zz'] }}|{{ n.x }}|{{ i[0] }}|{{ 5[1:2] }}|{{ 'abc'['x':] }}
{{ i[1:2] }}
{{ d[1:2] }}
{{ s[::0] }}
{{ d.b }} {{ d['b'] }} {{ d.items }}
{{ d['items'] }} {{ d.get('items') }} {{ d.get('zz') }} {{ d.get('zz', 9) }} {{ nest.a.b[1].c }} {{ nest['a'].b.0 }} {{ l.0 }} {{ d.a.1 }}
{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}={{ v }}{{ ';' if not loop.last }}{% endfor %} {{ {'x': 1}.keys() }} {{ {'x': 1}.values() }} {{ {'x': 1}.items() }} {{ 'x' in {'x': 1}.keys() }} {{ {'x':1}.keys()|length }}
{{ {1: 'a', 1.0: 'b', true: 'c'} }} {{ {'a': 1, 'a': 2} }} {{ {(1, 2): 3}[(1, 2)] }}
{{ {[1]: 2} }}
{{ 'a' in 'abc' }} {{ 'z' not in 'abc' }} {{ 1 in [1.0] }} {{ none in [none] }} {{ 'x' in {'x': 1} }} {{ 'a' in missing }} {{ 3 in range(5) }}
{{ 1 in 'abc' }}
{{ [1] in {} }}
{{ [1, 2] < [1, 3] }} {{ [1] == (1,) }} {{ 'a' < 'b' }} {{ {'a': 1} == {'a': 1.0} }} {{ (1, 'a') < (1, 'b') }}
{{ 1 < 'a' }}
{{ 'x' if false }}|{{ 'x' if true }}|{{ ('x' if false) is defined }}
{{ 'a' if e else 'b' if n else 'c' }} {{ e or n or 'd' }} {{ 1 and 0 and x.y }} {{ not e }}
{{ s.upper() }} {{ s.split(', ') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c '.split(none, 1) }} {{ ' a b c'.rsplit(none, 1) }} {{ 'a,b,c'.rsplit(',', maxsplit=1) }} {{ ''.split() }} {{ ''.split(',') }}
{{ 'xxaxx'.strip('x') }} {{ 'abcabc'.lstrip('ab') }} {{ 'abc\n\n'.rstrip() }}| {{ s.startswith(('He', 'x')) }} {{ s.endswith('d', 0, -1) }} {{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('zz') }} {{ s.count('l') }} {{ u8.find('日') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'ab'.replace('', '-') }}
{{ s.index('zz') }}
{{ 'hello world-foo it\'s'.title() }} {{ 'hELLO wORLD'.capitalize() }} {{ 'ß'.upper() }} {{ 'ΑΣ ΑΣΑ'.lower() }} {{ 'ǆ'.title() }} {{ 'aBc'.swapcase() }} {{ 'ﬁne'.title() }} {{ 'Straße'.casefold() }}
{{ '-'.join(['a', 'b']) }} {{ ','.join('abc') }} {{ 'x'.center(6, '*') }} {{ 'x'.center(5, '*') }} {{ 'ab'.center(5, '*') }} {{ 'x'.ljust(3, '.') }} {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ 'a\tb'.expandtabs(4) }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('z') }}
{{ ','.join([1]) }}
{{ 'a\nb\r\nc\x0bd\u2028e\n'.splitlines() }} {{ 'a\nb\n'.splitlines(true) }} {{ 'foobar'.removeprefix('foo') }} {{ 'foobar'.removesuffix('bar') }}
{{ '1'.isdigit() }} {{ '²'.isdigit() }} {{ '½'.isnumeric() }} {{ '²'.isdecimal() }} {{ 'aé'.isalpha() }} {{ ''.isalpha() }} {{ 'Ab Cd'.istitle() }} {{ 'a_1'.isidentifier() }} {{ '\x00'.isprintable() }} {{ ' \xa0'.isspace() }}
{{ '%s %d %05.1f %-5s| %+d %x %o %e %g %r %%' % ('a', 3.9, 2.25, 'b', 5, 255, 8, 12345.678, 0.0001, 'q') }}
{{ '%(a)s %(b)03d' % {'a': 1, 'b': 2} }} {{ '%s' % l }} {{ '%s' % (l,) }} {{ '%c%c' % (65, 'é') }} {{ '%5.2s|' % 'abc' }} {{ '%*d' % (5, 42) }} {{ '%#x %#o' % (255, 8) }} {{ '%.3g' % 1234567 }} {{ '% d' % 5 }}
{{ '%s %s' % 'a' }}
{{ '%s' % ('a', 'b') }}
{{ '%d' % 'x' }}
{{ '{} {}'.format(1, 'a') }} {{ '{1} {0}'.format(1, 2) }} {{ '{a} {b!r}'.format(a=1, b='x') }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }} {{ '{:05d} {:+} {:,} {:_} {:x} {:#b} {:e} {:.2f} {:%} {:g}'.format(42, 3, 1234567, 1234567, 255, 5, 1234.5, 3.14159, 0.25, 0.00001) }}
{{ '{0[a]} {0.b}'.format(d) }} {{ '{:{}}'.format('x', 4) }}| {{ '{{}}' .format() }} {{ '{!s:>4}'.format(none) }} {{ '{:.3}'.format(3.14159) }} {{ '{:.3}'.format('abcdef') }} {{ '{:10.3}'.format(123456.0) }} {{ '{}'.format(1e20) }} {{ '{:n}'.format(5) }} {{ '{:c}'.format(97) }} {{ '{a}'.format_map({'a': 2}) }} {{ '{:012,.2f}'.format(1234.5) }} {{ '{:=+8}'.format(5) }}
{{ '{}'.format() }}
{{ '{} {0}'.format(1) }}
{{ '{:d}'.format('x') }}
{{ '{:>5}'.format(none) }}
{{ '}'.format() }}
{{ l|sort }} {{ w|sort }} {{ w|sort(case_sensitive=true) }} {{ l|sort(reverse=true) }} {{ users|sort(attribute='age,name')|map(attribute='name')|list }} {{ users|sort(attribute='age', reverse=true)|map(attribute='name')|join(',') }}
{{ [1, 'a']|sort }}
{{ l|min }} {{ l|max }} {{ w|min }} {{ []|min is defined }} {{ users|max(attribute='age') }} {{ l|sum }} {{ users|sum(attribute='age') }} {{ [[1], [2]]|sum(start=[]) }} {{ [0.1, 0.2]|sum }}
{{ l|first }} {{ l|last }} {{ []|first }}|{{ s|first }} {{ d|first }} {{ d|last }} {{ l|reverse|list }} {{ s|reverse }} {{ (1,2)|reverse|list }} {{ l|join }} {{ l|join('-') }} {{ users|join(', ', attribute='name') }}
{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, 'x')|list }} {{ [1, 2, 3, 4, 5]|slice(3)|list }} {{ [1, 2, 3, 4]|slice(3, 'x')|list }}
{{ ['a', 'A', 'b', 1, 1.0]|unique|list }} {{ ['a', 'A']|unique(case_sensitive=true)|list }} {{ users|unique(attribute='age')|map(attribute='name')|list }}
{% for g in users|groupby('age') %}{{ g.grouper }}:{{ g.list|map(attribute='name')|join('/') }};{% endfor %} {% for k, v in users|groupby('city.zip', default='?') %}{{ k }}={{ v|length }};{% endfor %} {{ [{'a': 'X'}, {'a': 'x'}]|groupby('a') }}
{{ d|dictsort }} {{ {'B': 1, 'a': 2}|dictsort }} {{ {'B': 1, 'a': 2}|dictsort(true) }} {{ {'x': 2, 'y': 1}|dictsort(by='value') }} {{ {'x': 2, 'y': 1}|dictsort(reverse=true) }} {{ d|items|list }}
{{ users|selectattr('age', 'equalto', 30)|map(attribute='name')|list }} {{ users|rejectattr('city')|map(attribute='name')|list }} {{ l|select('odd')|list }} {{ l|reject('gt', 1)|list }} {{ [0, 1, '']|select|list }} {{ l|map('string')|list }} {{ w|map('upper')|join }} {{ users|map(attribute='city.zip', default='-')|list }} {{ l|map('replace', 1, 2)|list }}
{% set g = l|map('string') %}{{ g|list }}{{ g|list }}{{ g|join }}
{{ l|map('nope')|list }}
{{ l|select('nope')|list }}
{{ l|nope }}
{{ l is nope }}
{% if false %}{{ l|nope }}{% endif %}ok {{ 'x' if true else l|nope }}
{{ missing|default('a') }} {{ e|default('b') }} {{ e|default('c', true) }} {{ n|default('d') }} {{ n|d('e', boolean=true) }} {{ missing|default }}|
{{ '42'|int }} {{ '42.9'|int }} {{ 'x'|int }} {{ 'x'|int(-1) }} {{ '0x1f'|int(base=16) }} {{ 'ff'|int(0, 16) }} {{ 3.99|int }} {{ n|int }} {{ ' 7 '|int }} {{ '1_000'|int }} {{ '٣'|int }} {{ '1.5'|float }} {{ 'x'|float }} {{ 'inf'|float }} {{ '1e3'|float }} {{ true|int }}
{{ 2.5|round }} {{ 3.5|round }} {{ 42|round }} {{ 2.675|round(2) }} {{ 42.55|round(1, 'floor') }} {{ 42.55|round(1, 'ceil') }} {{ 1234|round(-2) }} {{ 1250.0|round(-2) }} {{ -5|abs }} {{ -2.5|abs }} {{ 15|round(-1) }} {{ 25|round(-1) }}
{{ 0|filesizeformat }} {{ 1|filesizeformat }} {{ 999|filesizeformat }} {{ 1500|filesizeformat }} {{ 1048576|filesizeformat(true) }} {{ 123456789|filesizeformat }} {{ '13'|filesizeformat }}
{{ s|upper }} {{ s|lower }} {{ 'hello world-foo (bar) it\'s'|title }} {{ 'hELLO'|capitalize }} {{ '  x '|trim }}| {{ 'xxaxx'|trim('x') }} {{ s|length }} {{ u8|length }} {{ s|replace('l', 'L') }} {{ s|replace('l', 'L', 1) }} {{ 5|replace(5, 6) }} {{ s|wordcount }} {{ s|center(20) }}| {{ s|list }} {{ 5|string + 'x' }}
{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(1, blank=true) }}|{{ 'a\nb'|indent('> ') }}|{{ 'a\n'|indent }}|{{ ''|indent(first=true) }}|
{{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz qux'|truncate(11) }} {{ 'foo bar baz qux'|truncate(11, false, '...', 0) }} {{ 'foobar'|truncate(3, leeway=0) }}
{{ 'The quick-brown fox jumped over the lazy dog, e-mail'|wordwrap(10) }}|{{ 'aaaaaaaaaaaa bb'|wordwrap(5) }}|{{ 'aaaaaaaaaaaa bb'|wordwrap(5, false) }}|{{ 'a b c d'|wordwrap(3, wrapstring='/') }}|{{ 'well-known fact'|wordwrap(6, break_on_hyphens=false) }}|{{ 'one\n\ntwo three'|wordwrap(5) }}
{{ '<a href="x">\'&</a>'|e }} {{ '<b>'|safe }} {{ ('<b>'|safe) + '<i>' }} {{ '<i>' + ('<b>'|e) }} {{ ('<b>'|e)|e }} {{ ('<b>'|e)|forceescape }} {{ ('%s'|safe) % '<' }} {{ '<'|e|upper }} {{ ('<'|e)|string is escaped }} {{ ['<'|e] }} {{ ('a'|safe).join(['<', 'b'|safe]) }} {{ ('{}'|safe).format('<') }} {{ ('x'|safe) ~ '<' }} {{ ('ab'|safe)[0] is escaped }} {{ ('a<'|safe).replace('a', '<') }} {{ ('<'|safe)*2 }}
{{ '<p>Hello &amp; <b>you</b>\n  there</p><!-- c -->'|striptags }} {{ 'a b/c?d=é&e'|urlencode }} {{ {'a b': 1, 'c': '/é'}|urlencode }} {{ [('a', 1)]|urlencode }} {{ {'class': 'x<', 'id': none, 'n': 5}|xmlattr }} {{ {}|xmlattr }}|
{{ {'a': [1, 2.5, 'é"<', none, true], 'b': {}}|tojson }} {{ [1, [2]]|tojson(indent=2) }} {{ {'b': 1, 'a': []}|tojson(indent=1, sort_keys=true) }} {{ 'é😀\x7f'|tojson(ensure_ascii=true) }} {{ {'a': 1, 'b': [1, 2]}|tojson(separators=(',', ':')) }} {{ (1, 2)|tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }} {{ 'inf'|float|tojson }} {{ '\n\t\x01\\'|tojson }} {{ {'a': [1]}|tojson(indent='--') }}
{{ missing|tojson }}
{{ range(3)|tojson }}
{{ {'zeta': 'x'*50, 'alpha': ['y'*30, 'z'*30], 'm': {'k': 1}}|pprint }} {{ 'abc'|pprint }} {{ [1, 2]|pprint }} {{ ('word ' * 30)|pprint }}
{{ 5 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ s is string }} {{ i is number }} {{ t is number }} {{ t is integer }} {{ i is integer }} {{ f is float }} {{ d is mapping }} {{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ i is iterable }} {{ l is iterable }} {{ n is none }} {{ t is true }} {{ t is boolean }} {{ 1 is true }} {{ missing is undefined }} {{ range is callable }} {{ 'a' is lower }} {{ 'A' is upper }} {{ 1 is sameas 1 }} {{ 1 is sameas true }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ 3 is in [1, 3] }} {{ 1 is eq 1 }} {{ 1 is ne(2) }} {{ 2 is gt 1 }} {{ 1 is le 1 }} {{ n is not none }} {{ missing is sequence }} {{ missing is iterable }} {{ missing is callable }} {{ {}.keys() is sequence }} {{ range(2) is sequence }}
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }} {% endfor %}
{% for x in [] %}x{% else %}empty{% endfor %} {% for x in missing %}x{% else %}none{% endfor %} {% for x in l if x > 1 %}{{ x }}{{ loop.index }}{{ loop.last }} {% endfor %} {% for x in l if x > 9 %}x{% else %}no{% endfor %}
{% for x in l if loop.index > 1 %}{{ x }}{% endfor %}
{% for x in n %}{% endfor %}
{% for a, b in [(1, 2), [3, 4], 'xy'] %}{{ a }}{{ b }} {% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{% for x in [[1, [2, [3]]], 4] recursive %}{{ loop.depth }}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}
{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% if loop.index == 3 %}{% break %}{% endif %}{% else %}else{% endfor %} {% for x in l %}{% break %}{% else %}else{% endfor %} {% for x in l %}{% continue %}{% else %}else{% endfor %}
{% break %}
{% for x in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}
{% for x in l %}{% filter upper %}a{% if x == 1 %}{% break %}{% endif %}{% endfilter %}{% endfor %}
{% set x = 1 %}{% for y in l %}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }} {% if true %}{% set x = 5 %}{% endif %}{{ x }} {% for y in [1] %}{{ q }}{% set q = 2 %}{{ q }}{% endfor %}{{ q }}
{% set ns = namespace(a=1, b=[]) %}{% for x in l %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }} {{ ns }} {{ ns['a'] }} {{ ns.zz }} {% set ns.new = 'n' %}{{ ns.new }} {{ namespace({'q': 1}).q }}
{% set d.x = 1 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }} {% set a, b = b, a %}{{ a }}{{ b }} {% set ns = namespace() %}{% set ns.x, y = 'pq' %}{{ ns.x }}{{ y }}
{% set a, b = 1 %}
{% set x %}a{{ 1 }}b{% endset %}{{ x }}|{% set x | upper | replace('A', 'z') %}abc{% endset %}{{ x }}|{% set ns = namespace() %}{% set ns.t %}q{% endset %}{{ ns.t }}
{% set x | replace(a, b) %}abc{% endset %}
{% macro m(a, b=2, c=a) %}[{{ a }},{{ b }},{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=6) }}{{ m() }}{{ m(1, c=9) }}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m }}
{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{{ m(1) }} {% macro k() %}{{ caller('z') if caller else 'none' }}{% endmacro %}{{ k() }}{% call(x) k() %}<{{ x }}>{% endcall %}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, z=2) }}
{% macro m(a, a) %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% macro outer() %}{% macro inner(x) %}{{ x * 2 }}{% endmacro %}{{ inner(4) }}{% endmacro %}{{ outer() }} {% set v = 1 %}{% macro show() %}{{ v }}{% endmacro %}{% set v = 2 %}{{ show() }}{% for v in [9] %}{{ show() }}{% endfor %}
{% macro fac(n) %}{{ 1 if n <= 1 else n * (fac(n - 1) | int) }}{% endmacro %}{{ fac(5) }} {% macro r(n) %}{{ r(n + 1) }}{% endmacro %}
{% macro r(n) %}{{ r(n + 1) }}{% endmacro %}{{ r(0) }}
{% macro m(x) %}{% for i in range(x) %}{{ i }}{% if i == 1 %}{% break %}{% endif %}{% endfor %}{% endmacro %}{{ m(5) }} {% macro c() %}({{ caller() }}){% endmacro %}{% call c() %}{{ s }}{% endcall %}{% call c() %}{% call c() %}x{% endcall %}{% endcall %}
{% call range(3) %}{% endcall %}
{% call 5 %}{% endcall %}
{% filter upper %}a{{ s }}b{% endfilter %} {% filter replace('a', 'b')|upper %}aXa{% endfilter %} {% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }} {% set z = 1 %}{% with z = 2, y = z %}{{ z }}{{ y }}{% endwith %}{{ z }} {% with %}{% set z = 5 %}{{ z }}{% endwith %}{{ z }}
{% generation %}a{{ s }}{% set z = 1 %}{% endgeneration %}{{ z }} {% raw %}{{ x }}{% if %}{% endraw %} {# comment {{ x }} #}after {% print 1, 's' %} {% autoescape false %}{{ '<' }}{% endautoescape %}
{% if n %}a{% elif i == 7 %}b{% else %}c{% endif %} {% if missing %}x{% endif %}{% if [] %}x{% elif {} %}y{% elif '' %}z{% elif 0 %}w{% elif 0.0 %}v{% else %}falsy{% endif %}
{%- for m in messages -%}  {{- '<|' + m.role + '|>' -}}  {%- if m.content is string %}{{ m['content'] | trim }}{% else %}-{% endif %}{% endfor %}
{% set x = cycler('a', 'b', 'c') %}{{ x.next() }}{{ x.next() }}{{ x.current }}{{ x.reset() }}{{ x.current }} {% set j = joiner('; ') %}{{ j() }}a{{ j() }}b{{ j() }}c {{ dict(a=1, b=2) }} {{ dict([('x', 1)]) }} {{ dict({'q': 1}, r=2) }} {{ range(3)|list }} {{ range(5, 0, -2)|list }} {{ range(3) }} {{ range(1, 9, 3) }}
{{ range(100001)|length }}
{{ range(0, 10, 0) }}
{{ raise_exception('stop') }}
{{ strftime_now('%Y-%m-%d %H:%M:%S %B %b %A %a %j %p %I %y %%') }}
{{ l.append(1) }}
{{ d.update({}) }}
{{ l.append is defined }} {{ ''.__class__ }}|
{{ ().__class__.__mro__ }}
{{ s.__class__.x }}
{{ l.copy() }} {{ l.count(1) }} {{ l.index(2) }} {{ d.copy().b }} {{ (5).bit_length() }} {{ 2.0.is_integer() }} {{ {'a': 1} | attr('items') is defined }} {{ d | attr('b') is defined }} {{ {}.fromkeys(['a'], 1) }}
{{ f(1) }}
{{ s() }}
{{ dict(**{'a': 1}) }} {{ '{} {}'.format(*[1, 2]) }} {{ '{a}'.format(**{'a': 1}) }} {{ dict(a=1, **{'b': 2}) }}
{{ dict(a=1, a=2) }}
{{ s | upper(1) }}
{{ 1 if }}
{% if true %}
{% for %}
{{ }}
{{ x
{% unknown %}
{% endif %}
{{ 'unterminated }}
{{ 1 + }}
{{ (1 }}
{{ [1, 2 }}
{% set 1 = 2 %}
{% set none = 2 %}
{% for loop in l %}{% endfor %}
{% for x in l %}{% set loop = 1 %}{% endfor %}
{% include 'x' %}
{{ [1, 2, 3,] }} {{ {'a': 1,} }} {{ (1,) }} {{ [l[0], l[1]][0] }} {{ {'a': {'b': 1}}.a.b }} {{ {'a': {}}['a'] }} {{ {'x': {'y': {'z': 1}}} }}
{{ loop }}|
{{ 'a'|upper if true else 'b' }} {{ ('a' if false else 'b')|upper }} {{ -5|abs }} {{ (-5)|abs }} {{ 'x' ~ (1 + 2) }} {{ [1, 2]|length > 1 }} {{ not 'a' in 'abc' }} {{ 1 is odd and 2 is even }} {{ 5 is divisibleby 5 and true }}
{{ {'a': 1}.items()|list }} {{ 'abc'|map('upper')|list }} {{ [[1, 2], [3]]|map('length')|list }} {{ [{'a': 1}, {}]|map(attribute='a')|list }} {{ [3, 1]|sort|first }} {{ ('a', 'b')|join }} {{ 'b' in ('a', 'b') }}
{{ '  lead' }}{{- '  x' -}}   {{ 'y' }}
{{ 0 and x or 'z' }} {{ '' ~ none ~ true ~ 1.0 }} {{ 'é'|tojson }} {{ "a" == 'a' }} {{ 'Z' < 'a' }} {{ 1 == '1' }} {{ none == false }} {{ [] == () }}
""".strip("\n").split("\n")

MULTILINE = [
    "a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\n  {%+ if true %}\nb\n  {%+ endif +%}\nc\n\n", "  {{ 1 }}  \n{% if true -%}\n\n  x\n{%- endif %}\n\ny",
    "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\n", "x {# c #}\ny {#- c -#}\n z\n  {# only #}\nw", "  {% raw %}\n a {{ b }}\n  {% endraw %}\nc", "{%- raw -%}  x  {%- endraw -%}  y",
    "a\r\nb\rc{{ 'x\r\ny' }}\r\n", "{% set x = [\n  1,\n  2,\n] %}{{ x }}\n\n", "\t{% if true %}tab{% endif %}\n", "x\n\n\n", "{{ 'a'\n~ 'b' }}", "{%if true%}tight{%endif%}{%-if true-%} t {%-endif-%}", "", "\n", "no tags at all\n",
    "{% if true %}  {% endif %}  \n  {% if true %}x{% endif %}", "line {% if true %}\n  in\n{% endif %} line", "<{% for i in [1, 2] %}\n\n{{ i }}\n\n{% endfor %}>", "{{- '' }}\n a\n{{ '' -}}\n b", "\u00a0{%- if true %}nbsp{% endif -%}\u3000x",
]


def main():
    warnings.simplefilter("ignore")
    environment = jinja_random.make_environment()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for source in TEMPLATES + MULTILINE:
            answer = jinja_random.reference(environment, source, [VARIABLES])[0]
            if answer is not None:
                file.write(json.dumps({"template": source, "variables": VARIABLES, **answer}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

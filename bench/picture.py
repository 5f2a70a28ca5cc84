#!/usr/bin/env python3
"""Draws docs/performance.svg and fills the table of docs/performance.md, both from result files: bench/picture.py [FILE...]

FILEs are what bench/compare.py --json or `tonnage bench --json` wrote; by default all bench/results/compare*.json and
bench*.json. Nothing is drawn and nothing is written that is not in them. Needs Python's standard library only."""
import html
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- what bench/picture.py writes -->\n", "<!-- the end of it -->\n"

WIDTH, MARGIN, LABELS, VALUES = 880, 24, 270, 170
BAR, GAP, ROW_GAP, TITLE = 16, 3, 16, 40
OURS, PEER, BOUND, TEXT, FAINT = "#2f6f9f", "#b9c3cc", "#c2542d", "#24292f", "#6b7580"


class Row:
    """One work: tokens/s by engine, ours first, and our bound where it was measured."""

    def __init__(self, label, speeds, bound=None):
        self.label, self.speeds, self.bound = label, speeds, bound

    @property
    def ours(self):
        return next(iter(self.speeds.values()))

    @property
    def largest(self):
        return max([*self.speeds.values(), self.bound or 0])


def compared(result):
    """Rows of what compare.py wrote; files from before it knew bounds have none."""
    keys = [key.rpartition(" ") for key in result["tokens_per_s"]]
    for work in dict.fromkeys(work for _, _, work in keys):
        speeds = {engine: statistics.median(result["tokens_per_s"][f"{engine} {work}"]) for engine, _, w in keys if w == work}
        bounds = result.get("bound_tokens_per_s", {}).get(work)
        yield Row(result.get("works", {}).get(work, work), speeds, statistics.median(bounds) if bounds else None)


def benched(result):
    """Rows of what `tonnage bench` wrote."""
    for figure in result["figures"]:
        label = f"{figure['work']}, {figure['prompt_tokens']:,} tokens"
        if figure["work"] != "prefill":
            several = f" of {figure['requests']}" if figure["requests"] > 1 else ""
            label = f"{figure['work']}{several} behind {figure['prompt_tokens']:,} tokens"
        yield Row(label, {"tonnage": figure["tokens_per_s"]}, figure.get("bound_tokens_per_s"))


class Group:
    """One result file."""

    def __init__(self, path):
        result = json.loads(path.read_text())
        self.file = path.name
        self.rows = list(benched(result) if "figures" in result else compared(result))
        versions = result.get("versions", {})
        processor = result.get("processor") or versions.get("tonnage", "").partition("(")[2].rstrip(")")
        self.title = f"{result['model']}, {result['threads']} threads"
        self.subtitle = ", ".join([processor] + [version for name, version in versions.items() if name != "tonnage"])


def text(x, y, content, size=13, color=TEXT, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" ' \
           f'font-weight="{weight}">{html.escape(content)}</text>'


def rectangle(x, y, width, height, color):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height}" rx="2" fill="{color}"/>'


def draw_row(row, y):
    """The row's elements and where it ends. A row has a scale of its own: what differs within it is what counts."""
    left, room = MARGIN + LABELS, WIDTH - 2 * MARGIN - LABELS - VALUES
    height = len(row.speeds) * (BAR + GAP) - GAP
    parts = [text(left - 12, y + height / 2 + 4.5, row.label, anchor="end")]
    for i, (engine, speed) in enumerate(row.speeds.items()):
        top, length = y + i * (BAR + GAP), room * speed / row.largest
        parts.append(rectangle(left, top, length, BAR, OURS if i == 0 else PEER))
        note = f"{speed:,.0f}" if speed >= 100 else f"{speed:,.1f}"
        if i == 0 and row.bound:
            note += f"  ({speed / row.bound:.0%} of the bound)"
        elif i > 0:
            note += f"  {engine}"
        parts.append(text(left + room + 10, top + BAR - 3.5, note, size=12, color=TEXT if i == 0 else FAINT))
    if row.bound:
        x = left + room * row.bound / row.largest
        parts.append(f'<line x1="{x:.1f}" y1="{y - 4}" x2="{x:.1f}" y2="{y + height + 4}" stroke="{BOUND}" stroke-width="2"/>')
    return parts, y + height + ROW_GAP


def draw(groups):
    parts, y = [], MARGIN + 4
    for group in groups:
        parts.append(text(MARGIN, y + 10, group.title, size=15, weight="600"))
        parts.append(text(MARGIN, y + 27, group.subtitle, size=11.5, color=FAINT))
        y += TITLE
        for row in group.rows:
            drawn, y = draw_row(row, y)
            parts += drawn
        y += 12
    rows = [row for group in groups for row in group.rows]
    legend = [(OURS, "tonnage")] + [(PEER, "peers")] * any(len(row.speeds) > 1 for row in rows)
    legend += [(BOUND, "what the processor could do at best")] * any(row.bound for row in rows)
    x = MARGIN + LABELS
    for color, name in legend:
        parts += [rectangle(x, y - 9, 11, 11, color), text(x + 17, y + 1, name, size=12, color=FAINT)]
        x += 40 + 6.6 * len(name)
    parts.append(text(MARGIN, y + 1, "tokens a second", size=12, color=FAINT))
    height = y + MARGIN
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" role="img" '
            'aria-label="Tokens a second beside peers and bounds">\n'
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def table_of(group):
    engines = list(dict.fromkeys(engine for row in group.rows for engine in row.speeds))
    bounded = any(row.bound for row in group.rows)
    lines = [["", *engines, *["ratio"] * (len(engines) - 1), *["bound", "reached"] * bounded]]
    lines.append(["---"] * len(lines[0]))
    for row in group.rows:
        line = [row.label, *(f"{row.speeds[engine]:,.1f}" for engine in engines),
                *(f"{row.ours / row.speeds[engine]:.2f}" for engine in engines[1:])]
        if bounded:
            line += [f"{row.bound:,.1f}", f"{row.ours / row.bound:.0%}"] if row.bound else ["", ""]
        lines.append(line)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables(groups):
    return "\n".join(f"{group.title} ({group.subtitle}; `bench/results/{group.file}`), tokens/s:\n\n{table_of(group)}\n"
                     for group in groups)


def main():
    results = ROOT / "bench" / "results"
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or sorted([*results.glob("compare*.json"), *results.glob("bench*.json")])
    groups = [Group(path) for path in paths]
    (ROOT / "docs" / "performance.svg").write_text(draw(groups))
    page = ROOT / "docs" / "performance.md"
    before, rest = page.read_text().split(BEGIN)
    page.write_text(before + BEGIN + "\n" + tables(groups) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()

"""Bars as SVG, with nothing but the standard library: the same numbers give the same bytes."""
from xml.sax.saxutils import escape

COLOURS = ["#1f77b4", "#9ec9e8", "#7f7f7f", "#d98c3f", "#59a14f", "#b07aa1", "#bab0ac"]
BAR, GAP, LABEL, WIDTH, TOP = 14, 12, 300, 620, 64


def bars(title, groups):
    """groups: (label, unit, {version: rate}).  Bars of one unit share a scale."""
    names = list(dict.fromkeys(name for _, _, rates in groups for name in rates))
    most = {unit: max(rate for _, u, rates in groups if u == unit for rate in rates.values()) for _, unit, _ in groups}
    y, parts = TOP, []
    for label, unit, rates in groups:
        middle = y + BAR * len(rates) / 2 + 4
        parts.append(f'<text x="{LABEL - 8}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>')
        for name, rate in rates.items():
            width = WIDTH * rate / most[unit]
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[names.index(name) % 7]}"/>')
            parts.append(f'<text x="{LABEL + width + 4:.0f}" y="{y + BAR - 4}">{rate:.0f} {escape(unit)}</text>')
            y += BAR
        y += GAP
    legend, x = [], LABEL
    for i, name in enumerate(names):
        legend.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[i % 7]}"/>')
        legend.append(f'<text x="{x + 16}" y="44">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + WIDTH + 110}" height="{y + 10}" '
            f'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>')
    return "\n".join([head, f'<text x="8" y="20" font-size="13">{escape(title)}</text>', *legend, *parts, "</svg>"]) + "\n"

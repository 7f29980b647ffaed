"""Draws the roofline of a JSON file that harness/lab/rooflines.cpp writes: python3 roofline.py IN.json OUT.svg.

Exits with 77 where matplotlib is missing. The same numbers give the same picture. Lengths are in px.
"""
import json
import re
import sys
import textwrap
from html import escape
from math import atan2, ceil, cos, degrees, hypot, log10, radians, sin

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.lines import Line2D
except ImportError:
    print("matplotlib is missing: pip install matplotlib, or apt-get install python3-matplotlib", file=sys.stderr)
    sys.exit(77)

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FONT, NOTE = 840, 460, 96, 24, 44, 12, 11  # WIDTH and HEIGHT are those of the plot
FONTS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
INK, GREY, GRID, PANEL, PAPER = "#1f2328", "#57606a", "#d0d7de", "#f3f5f8", "#ffffff"
# Orange and blue differ for colour-blind readers too; the roofs also differ in slope, the points in shape.
LOOK = {"B/s": ("#d55e00", "o", "bandwidth"), "FLOP/s": ("#0072b2", "s", "compute")}
DARK = {INK: "#e6edf3", GREY: "#9da7b3", GRID: "#3a4350", PANEL: "#1b222c", PAPER: "#0d1117",
        "#d55e00": "#f0782a", "#0072b2": "#4aa8e8"}
ON_LINE, ON_MARK, OUTSIDE = 8, 100, 1000  # what a label costs for each px that is taken already


def si(value, unit):
    """Three significant digits, as in lab's tables: 4.7 TB/s of 4.7e12."""
    thousands = min(max(int(log10(value * 1.0005) // 3), 0), 5)
    return f"{value / 1000 ** thousands:.3g} {['', 'k', 'M', 'G', 'T', 'P'][thousands]}{unit}"


def box(x, y, width, height, angle=0.0):
    """The px of a rectangle with its middle at (x, y), turned by an angle in degrees."""
    along, across = np.meshgrid(np.arange(-width / 2, width / 2 + 1), np.arange(-height / 2, height / 2 + 1))
    turn = radians(angle)
    columns, rows = x + along * cos(turn) - across * sin(turn), y + along * sin(turn) + across * cos(turn)
    return np.clip(np.rint(rows), 0, HEIGHT).astype(int), np.clip(np.rint(columns), 0, WIDTH).astype(int)


def stroke(measured):
    return {"linewidth": 1.6, "linestyle": "-"} if measured else {"linewidth": 1.2, "linestyle": (0, (2, 4))}


def width_of(words):
    return 0.62 * FONT * len(words)  # in DejaVu Sans and Verdana, the widest of the fonts


def angle_of(begin, end):
    return degrees(atan2(end[1] - begin[1], end[0] - begin[0]))


def line_box(begin, end):
    return box(*(begin + end) / 2, hypot(*end - begin), 2, angle_of(begin, end))


class Roofline:
    def __init__(self, data):
        self.data, self.points = data, data["points"]
        self.drawn = [] if data.get("blank") else self.points  # a blank one has room for its points
        in_use = {name for point in self.points for name in point["roofs"]}  # no point, and all are shown
        self.roofs = [roof for roof in data["roofs"] if roof["name"] in in_use or not in_use]
        units = {f"{roof['name']}, measured": roof["unit"] for roof in self.roofs}
        for point in self.points:
            point.update(x=point["flop"] / point["bytes"], y=point["flop"] / point["seconds"],
                         look=LOOK[units[point["of"]]])
        bandwidths, computes = ([roof["per_s"] for roof in self.roofs if roof["unit"] == unit] for unit in LOOK)
        self.fastest, self.highest = max(bandwidths), max(computes)
        ridges = [compute / bandwidth for compute in computes for bandwidth in bandwidths]
        xs = [point["x"] for point in self.points] + [ridge for ridge in ridges if ridge < 1000 * min(ridges)]
        self.x = min(xs) / 6, max(xs) * 4
        ys = [point["y"] for point in self.points] + [self.fastest * self.x[0]]
        self.y = min(ys) / 3, max(ys + computes) * 2.2
        self.roofs = [roof for roof in self.roofs if np.less(*self.ends_of(roof))[0]]  # those in view
        self.taken = np.zeros((HEIGHT + 1, WIDTH + 1))
        self.taken[[0, -1], :] = self.taken[:, [0, -1]] = OUTSIDE

    def px(self, x, y):
        """A spot of the plot, in px from its lower left corner."""
        return np.array([log10(x / self.x[0]) / log10(self.x[1] / self.x[0]) * WIDTH,
                         log10(y / self.y[0]) / log10(self.y[1] / self.y[0]) * HEIGHT])

    def ends_of(self, roof):
        """A bandwidth's line ends at the highest compute roof; a compute's begins at the highest bandwidth."""
        rate = roof["per_s"]
        if roof["unit"] == "FLOP/s":
            return self.px(rate / self.fastest, rate), self.px(self.x[1], rate)
        begin, end = max(self.x[0], self.y[0] / rate), min(self.x[1], self.highest / rate)
        return self.px(begin, begin * rate), self.px(end, end * rate)

    def take(self, where, cost):
        """Notes what is drawn, so that no label is put there."""
        self.taken[where] = np.maximum(self.taken[where], cost)

    def cost_of(self, where):
        return self.taken[where].sum()

    def draw(self):
        """The figure and its height."""
        held = {}
        for point in self.drawn:
            held.setdefault(point["of"], []).append(point["name"])
        notes = [f"% of {roof}: {', '.join(names)}" for roof, names in held.items()]
        notes = [line for note in notes for line in textwrap.wrap(note, 130)]
        width, below = LEFT + WIDTH + RIGHT, 72 + 16 * len(notes)
        height = TOP + HEIGHT + below
        figure = plt.figure(figsize=(width / 72, height / 72), facecolor=PAPER)
        place = [LEFT / width, below / height, WIDTH / width, HEIGHT / height]
        self.draw_axes(figure.add_axes(place, facecolor=PANEL))
        self.plot = figure.add_axes(place, xlim=(0, WIDTH), ylim=(0, HEIGHT))  # in px
        self.plot.axis("off")
        for roof in self.roofs:
            begin, end = self.ends_of(roof)
            self.plot.plot(*zip(begin, end), color=LOOK[roof["unit"]][0], **stroke(roof["measured"]))
            self.take(line_box(begin, end), ON_LINE)
        for point in self.drawn:
            spot = self.px(point["x"], point["y"])
            color, marker, _ = point["look"]
            self.plot.plot(*spot, marker, color=color, markersize=9, markeredgecolor=INK, zorder=5)
            self.take(box(*spot, 14, 14), ON_MARK)
        for roofs in self.roofs_by_label():
            self.label_roofs(roofs)
        for point in sorted(self.drawn, key=lambda point: (-point["x"], point["y"])):
            self.label_point(point)
        figure.text(16 / width, 1 - 29 / height, self.data["title"], fontsize=15, fontweight="bold")
        figure.text(1 - RIGHT / width, 1 - 29 / height, self.data["label"], color=GREY, ha="right")
        for row, note in enumerate(notes):
            figure.text(LEFT / width, (below - 74 - 16 * row) / height, note, color=GREY)
        return figure, height

    def draw_axes(self, axes):
        axes.set(xscale="log", yscale="log", xlim=self.x, ylim=self.y)
        axes.set_xlabel("arithmetic intensity in FLOP/byte")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_major_formatter(lambda value, _: si(value, "FLOP/s"))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(lambda *_: "")
        axes.grid(color=GRID, linewidth=0.8)
        if self.data.get("blank"):
            axes.grid(which="minor", color=GRID, linewidth=0.3)
        axes.tick_params(which="both", color=INK, labelcolor=GREY)
        axes.spines[["top", "right"]].set_visible(False)
        looks = [look for look in LOOK.values() if any(point["look"] == look for point in self.drawn)]
        lines = [(look[0], f"{look[2]} roof", True) for look in LOOK.values()]
        if not all(roof["measured"] for roof in self.data["roofs"]):
            lines += [(INK, "measured", True), (INK, "theoretical", False)]
        entries = [Line2D([], [], color=color, label=label, **stroke(measured)) for color, label, measured in lines]
        entries += [Line2D([], [], linestyle="", marker=look[1], color=look[0], markeredgecolor=INK, markersize=9,
                           label=f"under a {look[2]} roof") for look in looks]
        axes.legend(handles=entries, loc="upper left", bbox_to_anchor=(0, -40 / HEIGHT), frameon=False, borderpad=0,
                    borderaxespad=0, ncol=len(entries), columnspacing=1.6)

    def roofs_by_label(self):
        """Lines that lie nearly upon each other share a label. The upper ones come first."""
        groups = []
        for roof in sorted(self.roofs, key=lambda roof: (roof["unit"], -roof["per_s"])):
            above = groups[-1][-1] if groups else {"unit": ""}
            near = above["unit"] == roof["unit"] and log10(above["per_s"] / roof["per_s"]) < 0.1
            groups.append(groups.pop() + [roof] if near else [roof])
        return groups

    def words_of(self, roofs):
        """The measured ones by name, then what theory says: DRAM read 4.7 TB/s, copy 4.27 TB/s, in theory 4.81 TB/s"""
        words, family = [], ""
        for roof in sorted(roofs, key=lambda roof: not roof["measured"]):
            first, _, rest = roof["name"].partition(" ")
            name = rest if first == family and roof["measured"] else roof["name"] if roof["measured"] else "in theory"
            words.append(f"{name} {si(roof['per_s'], roof['unit'])}")
            family = first
        return ", ".join(dict.fromkeys(words))

    def label_roofs(self, roofs):
        """The label lies along the upper line, above it, or else below the lower one."""
        words = self.words_of(roofs)
        width, choices = width_of(words), []
        for side, roof in ((1, roofs[0]), (-1, roofs[-1])):
            begin, end = self.ends_of(roof)
            length, angle = hypot(*end - begin), angle_of(begin, end)
            ahead = (end - begin) / length
            for step in range(ceil(max(length - width - 16, 1) / 8)):
                along = 8 + width / 2 + 8 * step
                spot = begin + (length - along if roof["unit"] == "FLOP/s" else along) * ahead
                spot = spot + side * (FONT / 2 + 5) * np.array([-ahead[1], ahead[0]])
                choices.append((step / 4 + 8 * (side < 0), *spot, angle, "center", None))
        self.write(words, choices)

    def label_point(self, point):
        """A line leads from the point to its label, which is nearer to it than to any other point."""
        words, spot, choices = f"{point['name']} {100 * point['share']:.3g} %", self.px(point["x"], point["y"]), []
        others = [self.px(other["x"], other["y"]) for other in self.points]
        others = [other for other in others if hypot(*other - spot) > 8]  # one that covers it is no other place
        for away in range(22, 120, 7):
            for turn in (-30, 0, 30, -60, 60, -90, 90, 150, 180, -150, 120, -120):
                ahead = np.array([cos(radians(turn)), sin(radians(turn))])
                side = "center" if abs(turn) == 90 else "left" if abs(turn) < 90 else "right"
                line = (spot + 6 * ahead, spot + (away - 2) * ahead)
                x, y = spot + away * ahead
                y += FONT / 2 * (side == "center") * ahead[1]
                cost = 2 * (away - 22) + 4 * (turn != -30) + 4 * (side != "left") + self.cost_of(line_box(*line))
                left = x - width_of(words) * {"left": 0, "center": 0.5, "right": 1}[side]
                for other in others:
                    gap = hypot(max(left - other[0], 0, other[0] - left - width_of(words)),
                                max(abs(y - other[1]) - FONT / 2, 0))
                    cost += OUTSIDE * (gap < away + 10)
                choices.append((cost, x, y, 0, side, line))
        self.write(words, choices)

    def write(self, words, choices):
        """Writes at the cheapest of the choices, which are: cost, x, y, angle, the side that x is of, line to it."""
        width = width_of(words)

        def room(choice, margin):
            middle = choice[1] + {"left": width / 2, "center": 0, "right": -width / 2}[choice[4]]
            return box(middle, choice[2], width + margin, FONT + margin, choice[3])

        best = min(choices, key=lambda choice: choice[0] + self.cost_of(room(choice, 4)))
        _, x, y, angle, side, line = best
        self.take(room(best, 0), ON_MARK)
        if line:
            self.plot.plot(*zip(*line), color=INK, linewidth=0.8, zorder=4)
            self.take(line_box(*line), ON_MARK)
        down = 0.36 * FONT  # from the middle of a letter to its base line
        self.plot.text(x + down * sin(radians(angle)), y - down * cos(radians(angle)), words, fontsize=FONT, ha=side,
                       va="baseline", rotation=angle, rotation_mode="anchor", zorder=6)


def described(data):
    """The picture in words, for a screen reader."""
    return "; ".join(
        [f"Roofline {data['title']}"] +
        [f"{roof['name']}, {'measured' if roof['measured'] else 'theoretical'}: {si(roof['per_s'], roof['unit'])}"
         for roof in data["roofs"]] +
        [f"{point['name']}: {point['x']:.3g} FLOP/byte, {si(point['y'], 'FLOP/s')}, {100 * point['share']:.3g} % of "
         f"{point['of']}" for point in data["points"] if not data.get("blank")])


def main(numbers, svg):
    with open(numbers, encoding="utf-8") as file:
        data = json.load(file)
    plt.rcParams.update({"figure.dpi": 72, "svg.hashsalt": "roofline", "svg.fonttype": "none", "font.size": NOTE,
                         "font.family": "DejaVu Sans", "text.parse_math": False, "text.color": INK,
                         "axes.edgecolor": INK, "axes.labelcolor": INK})
    figure, height = Roofline(data).draw()
    figure.savefig(svg, format="svg", facecolor=PAPER, metadata={"Date": None})
    # A reader's dark mode changes the colours, as in the timelines.
    dark = "".join(f'[style*="{what}: {light}"] {{ {what}: {shade} !important }}\n' for light, shade in DARK.items()
                   for what in ("fill", "stroke"))
    width = LEFT + WIDTH + RIGHT
    head = f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}"
height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(described(data))}">
<!-- numbers {data["hash"]} -->
<style>
@media (prefers-color-scheme: dark) {{
{dark}}}
</style>"""
    with open(svg, encoding="utf-8") as file:
        text = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", FONTS, file.read())
    with open(svg, "w", encoding="utf-8") as file:
        file.write(re.sub(r"<\?xml.*?<svg.*?>(\s*<metadata>.*?</metadata>)?", lambda _: head, text, flags=re.DOTALL))


if __name__ == "__main__":
    main(*sys.argv[1:])

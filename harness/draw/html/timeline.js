// Draws the timelines whose data the page holds: programs above each other on one time scale, on a canvas. Times are ns
// from each program's own zero. What comes from a capture is only ever text: textContent, or fillText of the canvas.
"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("data").textContent);
  const looks = data.looks.map(([fill, ink, height, meaning]) => ({ fill, ink, height, meaning }));
  const kernelPaints = 7, idlePaint = looks.length - 1;

  // ---- The rows -----------------------------------------------------------------------------------------------------

  // A column of the data is an array, or one number where all events have the same.
  const cell = (column, i) => (typeof column === "number" ? column : column[i]);

  // The first of `order` whose time is after `time`; times rise along `order`.
  function firstAfter(times, order, time) {
    let low = 0, high = order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[order[middle]] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  function readRow(json, program) {
    const count = json.begin.length, row = { ...json, program, count };
    row.begin = new Float64Array(count);
    row.end = new Float64Array(count);
    row.order = Array.from({ length: row.lanes }, () => []);  // by lane: no two events in one overlap
    for (let i = 0, time = 0; i < count; i++) {
      row.begin[i] = time += json.begin[i];
      row.end[i] = time + cell(json.ns, i);
      row.order[cell(json.lane, i)].push(i);
    }
    row.laneHeight = row.lanes === 1 ? 20 : 14;
    row.height = row.lanes * row.laneHeight + 4;
    return row;
  }

  function readCurve({ name, unit, points }, program) {
    const curve = { kind: "curve", name, unit, program, height: 44, count: points.length / 2 };
    curve.times = Float64Array.from({ length: curve.count }, (_, i) => points[2 * i]);
    curve.values = Float64Array.from({ length: curve.count }, (_, i) => points[2 * i + 1]);
    curve.order = curve.times.map((_, i) => i);
    const most = curve.values.reduce((a, b) => Math.max(a, b), 0);
    curve.most = unit === "%" ? Math.max(100, most) : d3.scaleLinear([0, most || 1], [0, 1]).nice().domain()[1];
    curve.group = "GPU Metrics";
    return curve;
  }

  const rows = [];   // of all programs, curves among them
  const lines = [];  // all that has a place of its own, from top to bottom: headings too
  let top = 0;
  function addLine(line, height) {
    lines.push(Object.assign(line, { top, height }));
    top += height;
  }
  for (const program of data.programs) {
    addLine({ kind: "program", program }, 30);
    program.top = top;
    const own = [...program.curves.map((c) => readCurve(c, program)), ...program.rows.map((r) => readRow(r, program))];
    let group = null;
    for (const row of own) {
      if (row.group !== group) addLine({ kind: "group", name: (group = row.group) }, 20);
      addLine(row, row.height);
      rows.push(row);
    }
    program.idle = own.find((row) => row.kind === "idle");
    program.bottom = top += 6;
  }
  const boxRows = rows.filter((row) => row.kind !== "curve");

  // What is in view, in ns: at first the windows of the programs. The scale ends a bit outside of all that there is.
  const start = [Math.min(...data.programs.map((p) => p.view[0])), Math.max(...data.programs.map((p) => p.view[1]))];
  const whole = [...start];
  for (const row of rows) {
    const begins = row.begin ?? row.times, ends = row.end ?? row.times;
    for (let i = 0; i < row.count; i++) {
      if (begins[i] < whole[0]) whole[0] = begins[i];
      if (ends[i] > whole[1]) whole[1] = ends[i];
    }
  }
  if (start[0] === start[1]) start.splice(0, 2, ...whole);  // CUDA calls, and nothing else
  const pad = ([a, b], share = 0.01) => [a - share * (b - a || 100), b + share * (b - a || 100)];

  // ---- Words --------------------------------------------------------------------------------------------------------

  const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
  const unitOf = (ns) => units.find(([, size]) => Math.abs(ns) >= size) ?? units[3];
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  // With all digits, to the nanosecond: "12.345678 ms".
  function exactly(ns) {
    const [unit, size] = unitOf(ns);
    return `${trimmed((ns / size).toFixed(Math.round(Math.log10(size))))} ${unit}`.replace("-", "−");
  }
  const withPrefix = d3.format(".3~s"), grouped = d3.format(",");
  const inUnit = (value, unit) =>
    unit === "%" ? `${d3.format(".3~r")(value)} %` : withPrefix(value).replace(/(\D?)$/, ` $1${unit}`).trim();
  const textOf = (row, i) => data.texts[cell(row.text, i)];
  // What stands in the box: of a copy, how much it is.
  const shortName = (row, i) => (cell(row.bytes, i) > 0 ? inUnit(cell(row.bytes, i), "B") : textOf(row, i));

  const kinds = {
    gpu: "on the GPU", api: "CUDA call", nvtx: "NVTX range", projected: "NVTX range on the GPU", idle: "",
  };
  // What there is to know of an event, as pairs of a word and a value.
  function factsOf({ row, i }) {
    const ns = row.end[i] - row.begin[i], bytes = cell(row.bytes, i), note = cell(row.note, i);
    const facts = [["start", exactly(row.begin[i])], ["duration", exactly(ns)]];
    facts.push(["row", `${row.name}${row.kind === "api" || row.kind === "nvtx" ? `, ${row.group}` : ""}`]);
    if (bytes > 0) facts.push(["bytes", grouped(bytes)]);
    if (bytes > 0 && ns > 0) facts.push(["rate", `${d3.format(".3~r")(bytes / ns)} GB/s`]);
    if (note >= 0)
      for (const fact of data.texts[note].split(/, (?=block )/)) {
        const space = fact.indexOf(" ");
        facts.push([fact.slice(0, space), fact.slice(space + 1)]);
      }
    if ((row.kind === "gpu" || row.kind === "api") && cell(row.id, i) > 0) facts.push(["correlation", cell(row.id, i)]);
    if (data.programs.length > 1) facts.push(["program", row.program.title]);
    return facts;
  }

  // ---- What belongs together ----------------------------------------------------------------------------------------

  const isIn = (call, range) => range.row.thread === 0 || range.row.thread === call.row.thread;
  const sameProcess = (row, other) => row.program === other.program && row.process === other.process;

  function* eventsOf(kind, row) {
    for (const other of boxRows)
      if (other.kind === kind && sameProcess(other, row)) for (let i = 0; i < other.count; i++) yield { row: other, i };
  }
  function withIds(kind, row, ids) {
    const found = [];
    for (const other of boxRows)
      if (other.kind === kind && sameProcess(other, row))
        for (let i = 0; i < other.count; i++) if (ids.has(cell(other.id, i))) found.push({ row: other, i });
    return found;
  }

  // A call, the work that it launched, and the innermost range in which it began; of a range, all calls in it.
  function relativesOf({ row, i }) {
    const id = cell(row.id, i);
    let calls = [], ranges = [];
    if (row.kind === "nvtx" || row.kind === "projected") {
      ranges = withIds("nvtx", row, new Set([id]));
      for (const range of ranges) {
        const [begin, end] = [range.row.begin[range.i], range.row.end[range.i]];
        for (const call of eventsOf("api", row)) {
          const at = call.row.begin[call.i];
          if (at >= begin && at < end && isIn(call, range)) calls.push(call);
        }
      }
    } else if (row.kind !== "idle" && id > 0) {
      calls = withIds("api", row, new Set([id]));
      for (const call of calls) {
        const at = call.row.begin[call.i];
        let innermost = null;
        for (const range of eventsOf("nvtx", row)) {
          const begin = range.row.begin[range.i];
          if (begin > at || range.row.end[range.i] <= at || !isIn(call, range)) continue;
          if (!innermost || begin >= innermost.row.begin[innermost.i]) innermost = range;
        }
        if (innermost) ranges.push(innermost);
      }
    }
    const idsOfCalls = new Set(calls.map((c) => cell(c.row.id, c.i)));
    if (row.kind === "gpu" && id > 0) idsOfCalls.add(id);
    idsOfCalls.delete(0);
    const projected = withIds("projected", row, new Set(ranges.map((r) => cell(r.row.id, r.i))));
    return { calls, work: withIds("gpu", row, idsOfCalls), ranges, projected };
  }

  // ---- State and scale ----------------------------------------------------------------------------------------------

  const canvas = element("plot"), context = canvas.getContext("2d");
  const scroller = element("scroller"), content = element("content"), tip = element("tip");
  const axisHeight = 26;
  const base = d3.scaleLinear().domain(pad(whole, 0.02));
  let scale = base.copy().domain(pad(start));
  let magnified = 1;              // how often the whole would fill the canvas
  let width = 0, height = 0;      // of the canvas, in CSS pixels
  let chosen = null;              // { row, i, relatives, lit: by row, which events are lit up }
  let matches = null;             // of the search, by text: does it match?
  let measured = null;            // { from, to, program }
  let measuring = false;
  let pointer = null;             // the last place of the mouse on the canvas
  let colours = {};

  const zoom = d3.zoom()
    .filter((event) => !event.button && !(event.shiftKey || (measuring && event.type !== "wheel")))
    .wheelDelta((event) => -event.deltaY * [0.004, 0.1, 1][event.deltaMode] * (event.ctrlKey ? 4 : 1))
    .on("zoom", ({ transform, sourceEvent }) => {
      scale = transform.rescaleX(base);
      magnified = transform.k;
      if (sourceEvent?.type === "mousemove") scroller.scrollTop -= sourceEvent.movementY;
      showTip(null);
      redraw();
    });
  const plot = d3.select(canvas).call(zoom).on("dblclick.zoom", null);

  // Brings a part of time into view.
  function show([from, to]) {
    const k = Math.min(zoom.scaleExtent()[1], Math.max(1, width / (base(to) - base(from))));
    const middle = base((from + to) / 2);
    plot.call(zoom.transform, d3.zoomIdentity.translate(width / 2, 0).scale(k).translate(-middle, 0));
  }
  const spanOf = ({ row, i }) => row.end[i] - row.begin[i];
  const zoomTo = (event) => show(pad([event.row.begin[event.i], event.row.end[event.i]], 2));
  function reset() {
    const [a, b] = scale.domain(), [from, to] = pad(start);
    const isStart = Math.abs(a - from) + Math.abs(b - to) < 0.001 * (to - from);
    show(isStart ? base.domain() : pad(start));
  }
  const zoomBy = (factor) => plot.call(zoom.scaleBy, factor, pointer ?? [width / 2, 0]);
  const moveBy = (share) => plot.call(zoom.translateBy, (-share * width) / magnified, 0);

  // Makes an event visible: near the middle, and wide enough to be seen.
  function reveal(event) {
    const { row, i } = event, x = scale(row.begin[i]), end = scale(row.end[i]);
    if (end - x < 6 || end - x > width) zoomTo(event);
    else if (x < 0 || end > width) {
      const middle = (row.begin[i] + row.end[i]) / 2, [a, b] = scale.domain();
      show([middle - (b - a) / 2, middle + (b - a) / 2]);
    }
    const above = row.top - scroller.scrollTop;
    if (above < 0 || above + row.height > height) scroller.scrollTop = row.top - height / 2;
  }

  // ---- Drawing ------------------------------------------------------------------------------------------------------

  let waiting = false;
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawAxis();
      draw();
    });
  }

  const axisTicks = () => scale.ticks(Math.max(2, Math.min(12, Math.floor(width / 90))));
  // Labels in the unit of their step. Where that takes many digits, they count from a round time in the corner.
  function drawAxis() {
    const ticks = axisTicks();
    const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
    const [, largest] = unitOf(Math.max(...scale.domain().map(Math.abs)));
    const isLong = largest / step > 1e4, [unit, size] = unitOf(isLong ? step : largest);
    const origin = isLong ? Math.floor(ticks[0] / (1000 * size)) * 1000 * size : 0;
    const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
    const isClear = (ns) => scale(ns) > (ns === 0 ? 3 : 24) && scale(ns) < width - 24;
    const label = (ns) => `${origin ? "+" : ""}${((ns - origin) / size).toFixed(digits)} ${unit}`.replace("-", "−");
    element("base").textContent = origin ? exactly(origin) : "";
    const axis = d3.axisTop(scale).tickValues(ticks).tickSizeOuter(0)
      .tickFormat((ns) => (!isClear(ns) ? "" : ns === 0 ? "0" : label(ns)));
    d3.select("#axis svg").selectAll("g").data([0]).join("g").attr("transform", `translate(0,${axisHeight})`)
      .call(axis);
  }

  const widths = new Map();  // of texts, in pixels
  function textWidth(text) {
    if (!widths.has(text)) widths.set(text, context.measureText(text).width);
    return widths.get(text);
  }
  function drawText(text, left, right, middle, ink) {
    const room = right - left - 6;
    if (room < 16) return;
    let shown = text;
    if (textWidth(text) > room) {
      shown = text.slice(0, Math.floor((text.length * (room - 8)) / textWidth(text)));
      if (shown.length < 3) return;
      shown += "…";
    }
    context.fillStyle = ink;
    context.fillText(shown, left + 3 + Math.max(0, room - textWidth(text)) / 2, middle);
  }

  // The events of a lane that `lit` takes; without it, all. What is thinner than a pixel is drawn together: the pixel
  // gets the paint that fills most of it, and is the paler the less of it they cover.
  function drawLane(row, lane, y, alpha, lit) {
    const order = row.order[lane], { begin, end } = row, [t0, t1] = scale.domain(), perNs = width / (t1 - t0);
    const time = new Float64Array(looks.length);
    const band = { paint: -1, alpha: 0, from: 0, to: 0 };  // pixels in a row that look the same
    let pixel = -1, used = 0;
    const tallOf = (paint) => Math.round((row.laneHeight - 2) * looks[paint].height);
    const fill = (paint, share, from, to) => {
      const look = looks[paint], tall = tallOf(paint);
      context.globalAlpha = alpha * share;
      context.fillStyle = paint === idlePaint ? colours.idle : look.fill;
      context.fillRect(from, y + (row.laneHeight - tall) / 2, to - from, tall);
    };
    const endBand = () => {
      if (band.paint >= 0) fill(band.paint, band.alpha, band.from, band.to);
      band.paint = -1;
    };
    const endPixel = () => {
      if (pixel < 0) return;
      let most = 0;
      for (let paint = 1; paint < time.length; paint++) if (time[paint] > time[most]) most = paint;
      const share = 0.25 + 0.75 * (Math.min(4, Math.max(1, Math.round(4 * used * perNs))) / 4);
      if (band.paint !== most || band.alpha !== share || band.to !== pixel) {
        endBand();
        Object.assign(band, { paint: most, alpha: share, from: pixel });
      }
      band.to = pixel + 1;
      time.fill(0);
      pixel = -1;
      used = 0;
    };
    const named = [];
    for (let at = firstAfter(end, order, t0); at < order.length && begin[order[at]] < t1; at++) {
      const i = order[at];
      if (lit && !lit(row, i)) continue;
      const x = (begin[i] - t0) * perNs, wide = (end[i] - begin[i]) * perNs, paint = cell(row.paint, i);
      if (wide >= 1) {
        endPixel();
        endBand();
        const from = Math.max(-2, Math.round(x)), to = Math.min(width + 2, Math.max(from + 1, Math.round(x + wide)));
        fill(paint, 1, from, to);
        if (to - from >= 5 && paint !== idlePaint) {
          const tall = tallOf(paint);
          context.fillStyle = "rgb(0 0 0 / 35%)";
          context.fillRect(from, y + (row.laneHeight - tall) / 2, 1, tall);
        }
        if (to - from >= 22 && paint !== idlePaint && tallOf(paint) >= 9) named.push([i, from, to]);
        continue;
      }
      const here = Math.max(0, Math.floor(x));
      if (here !== pixel) endPixel();
      pixel = here;
      time[paint] += end[i] - begin[i] + 1e-3;  // what took no time is seen too
      used += end[i] - begin[i];
    }
    endPixel();
    endBand();
    context.globalAlpha = alpha;
    for (const [i, from, to] of named)
      drawText(shortName(row, i), Math.max(0, from), Math.min(width, to), y + row.laneHeight / 2,
        looks[cell(row.paint, i)].ink);
  }

  // A sample stands for the time up to the next one. Where several share a pixel, the fullest colour reaches to the
  // least of them, and the pale one to the most.
  function drawCurve(curve, y) {
    const { times, values, order, count } = curve, [t0, t1] = scale.domain(), bottom = y + curve.height - 4;
    const tall = curve.height - 8;
    const bar = (from, to, value, alpha) => {
      const h = (value / curve.most) * tall;
      context.globalAlpha = alpha;
      context.fillRect(from, bottom - h, to - from, h);
    };
    context.fillStyle = colours.note;
    let from = -1, to = -1, least = 0, most = 0;
    const flush = () => {
      if (to <= from) return;
      bar(from, to, most, 0.4);
      bar(from, to, least, 0.6);
    };
    for (let i = Math.max(0, firstAfter(times, order, t0) - 1); i + 1 < count && times[i] < t1; i++) {
      const a = Math.round(scale(times[i])), b = Math.max(a + 1, Math.round(scale(times[i + 1])));
      if (a === from && b === to) {
        least = Math.min(least, values[i]);
        most = Math.max(most, values[i]);
        continue;
      }
      flush();
      [from, to, least, most] = [a, b, values[i], values[i]];
    }
    flush();
    context.globalAlpha = 1;
    context.fillStyle = colours.ink;
    context.fillText(inUnit(curve.most, curve.unit), 3, y + 8);
    context.fillStyle = colours.grid;
    context.fillRect(0, bottom, width, 1);
  }

  function drawBackground(program, scroll) {
    const [from, to] = program.view.map(scale), y = program.top - scroll, tall = program.bottom - program.top;
    context.fillStyle = colours.panel;
    context.fillRect(from, y, to - from, tall);
    context.fillStyle = colours.grid;
    for (const tick of axisTicks())
      context.fillRect(Math.round(scale(tick)), y, 1, tall);
    context.fillStyle = colours.note;
    for (const edge of [from, to]) context.fillRect(Math.round(edge) - 0.5, y, 1, tall);
  }

  const boxOf = ({ row, i }) => {
    const x = scale(row.begin[i]), y = row.top - scroller.scrollTop + 2 + cell(row.lane, i) * row.laneHeight;
    return { x, y, w: Math.max(2, scale(row.end[i]) - x), h: row.laneHeight };
  };

  // Lines from the call to its work, and frames around all that belong together.
  function drawChosen() {
    const most = 300, { relatives } = chosen;
    const all = [...relatives.calls, ...relatives.work, ...relatives.ranges, ...relatives.projected].slice(0, most);
    context.strokeStyle = colours.ink;
    context.lineWidth = 1;
    for (const one of all) {
      const { x, y, w, h } = boxOf(one);
      if (x < width && x + w > 0) context.strokeRect(x - 0.5, y + 0.5, w + 1, h - 1);
    }
    if (relatives.calls.length === 1)
      for (const work of relatives.work.slice(0, 50)) {
        const a = boxOf(relatives.calls[0]), b = boxOf(work), down = b.y > a.y;
        const [y1, y2] = down ? [a.y + a.h, b.y] : [a.y, b.y + b.h];
        context.globalAlpha = 0.7;
        context.beginPath();
        context.moveTo(a.x, y1);
        context.bezierCurveTo(a.x, (y1 + y2) / 2, b.x, (y1 + y2) / 2, b.x, y2);
        context.stroke();
      }
    context.globalAlpha = 1;
    const { x, y, w, h } = boxOf(chosen);
    context.lineWidth = 2.5;
    context.strokeRect(x - 1, y, w + 2, h);
  }

  function drawMeasured() {
    const [from, to] = [measured.from, measured.to].sort((a, b) => a - b), a = scale(from), b = scale(to);
    context.globalAlpha = 0.14;
    context.fillStyle = colours.focus;
    context.fillRect(a, 0, b - a, height);
    context.globalAlpha = 1;
    for (const x of [a, b]) context.fillRect(x - 0.5, 0, 1.5, height);
    const text = exactly(Math.round(to - from)), w = textWidth(text) + 12;
    const x = Math.min(width - w, Math.max(0, (Math.max(0, a) + Math.min(width, b) - w) / 2));
    context.fillRect(x, height - 24, w, 19);
    context.fillStyle = colours.paper;
    context.fillText(text, x + 6, height - 14);
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1, scroll = scroller.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, height);
    context.font = "11px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
    context.textBaseline = "middle";
    for (const program of data.programs) drawBackground(program, scroll);
    const lit = chosen || matches
      ? (row, i) => chosen?.lit.get(row)?.has(i) || (matches && matches[cell(row.text, i)]) : null;
    for (const row of rows) {
      const y = row.top - scroll + 2;
      if (y > height || y + row.height < 0) continue;
      context.globalAlpha = 1;
      if (row.kind === "curve") drawCurve(row, y);
      else
        for (let lane = 0; lane < row.lanes; lane++) {
          drawLane(row, lane, y + lane * row.laneHeight, lit ? 0.22 : 1, null);
          if (lit) drawLane(row, lane, y + lane * row.laneHeight, 1, lit);
        }
    }
    context.globalAlpha = 1;
    if (chosen) drawChosen();
    if (measured) drawMeasured();
  }

  // ---- Pointing -----------------------------------------------------------------------------------------------------

  const rowAt = (y) =>
    rows.find((row) => y + scroller.scrollTop >= row.top && y + scroller.scrollTop < row.top + row.height);

  // The event at a place of the canvas, or the nearest within a few pixels; and how many more share its pixel.
  function eventAt([x, y]) {
    const row = rowAt(y);
    if (!row || row.kind === "curve") return null;
    const lane = Math.floor((y + scroller.scrollTop - row.top - 2) / row.laneHeight);
    const order = row.order[Math.min(row.lanes - 1, Math.max(0, lane))];
    const time = scale.invert(x), nsPerPixel = scale.invert(x + 1) - time;
    const after = firstAfter(row.end, order, time);
    const away = (at) => (at in order ? Math.max(0, row.begin[order[at]] - time, time - row.end[order[at]]) : Infinity);
    const at = away(after - 1) < away(after) ? after - 1 : after;
    if (away(at) > 4 * nsPerPixel) return null;
    const i = order[at];
    let more = 0;
    if (row.end[i] - row.begin[i] < nsPerPixel) {
      const first = firstAfter(row.end, order, time - nsPerPixel / 2);
      const last = firstAfter(row.begin, order, time + nsPerPixel / 2);
      more = Math.max(0, last - first - 1);
    }
    return { row, i, more };
  }

  const add = (parent, tag, text, className = "") => {
    const node = parent.appendChild(document.createElement(tag));
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };

  function showTip(place, client) {
    const row = place && rowAt(place[1]), hit = place && eventAt(place);
    tip.hidden = true;
    if (row?.kind === "curve") {
      const at = firstAfter(row.times, row.order, scale.invert(place[0])) - 1;
      if (at < 0 || at + 1 >= row.count) return;
      fillTip(`${row.name}: ${inUnit(row.values[at], row.unit)}`, [["from", exactly(row.times[at])]]);
    } else if (hit) {
      fillTip(textOf(hit.row, hit.i), factsOf(hit), hit.more ? `${grouped(hit.more)} more in this pixel: zoom in` : "");
    } else return;
    tip.hidden = false;
    const { width: w, height: h } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(client[0] + 14, innerWidth - w - 8))}px`;
    tip.style.top = `${client[1] + 18 + h > innerHeight ? Math.max(4, client[1] - h - 10) : client[1] + 18}px`;
  }
  function fillTip(title, facts, note) {
    tip.replaceChildren();
    add(add(tip, "p"), "bdi", title);
    const list = add(tip, "dl");
    for (const [word, value] of facts) add(list, "dt", word), add(add(list, "dd"), "bdi", value);
    if (note) add(tip, "div", note, "note");
  }

  // ---- Choosing -----------------------------------------------------------------------------------------------------

  function choose(event) {
    chosen = null;
    if (event) {
      const relatives = relativesOf(event), lit = new Map();
      for (const one of [event, ...relatives.calls, ...relatives.work, ...relatives.ranges, ...relatives.projected])
        lit.set(one.row, (lit.get(one.row) ?? new Set()).add(one.i));
      chosen = { row: event.row, i: event.i, relatives, lit };
      measured = null;
    }
    describe();
    redraw();
  }

  // A button that goes to an event, or the events' number where they are many.
  function addLinks(line, events, words) {
    if (events.length === 0) return;
    line.append(line.childNodes.length ? ", " : "", words);
    const most = 3;
    for (const event of events.slice(0, most)) {
      line.append(" ");
      const button = add(line, "button");
      button.type = "button";
      add(button, "bdi", textOf(event.row, event.i));
      button.append(` ${exactly(spanOf(event))}`);
      button.addEventListener("click", () => {
        choose(event);
        reveal(event);
      });
    }
    if (events.length > most) line.append(` and ${grouped(events.length - most)} more`);
  }

  function describe() {
    const details = element("details");
    details.replaceChildren();
    if (measured) return describeMeasured(details);
    if (!chosen) {
      add(details, "p", "Hover over a box to read it, click it to see what belongs to it.", "note");
      return;
    }
    const { row, i, relatives } = chosen, title = add(details, "p");
    add(add(title, "b"), "bdi", textOf(row, i));
    title.append(kinds[row.kind] ? ` ${kinds[row.kind]}` : "");
    const facts = add(details, "p", undefined, "note");
    factsOf(chosen).forEach(([word, value], n) => {
      facts.append(n ? " · " : "", `${word} `);
      add(facts, "bdi", value);
    });
    const links = add(details, "p"), { calls, work, ranges, projected } = relatives;
    const isRange = row.kind === "nvtx" || row.kind === "projected";
    if (row.kind === "gpu") addLinks(links, calls, "launched by");
    if (row.kind === "gpu" && calls.length === 1)
      links.append(`, which began ${exactly(row.begin[i] - calls[0].row.begin[calls[0].i])} earlier`);
    if (row.kind === "api") addLinks(links, work, "launched");
    if (row.kind === "api" && work.length === 1)
      links.append(`, which began ${exactly(work[0].row.begin[work[0].i] - row.begin[i])} later`);
    if (isRange) {
      addLinks(links, row.kind === "nvtx" ? projected : ranges, row.kind === "nvtx" ? "on the GPU" : "on the CPU");
      if (calls.length) links.append(`, ${grouped(calls.length)} CUDA calls`);
      addLinks(links, work, "with the work");
    } else addLinks(links, ranges, "in range");
  }

  function describeMeasured(details) {
    const [from, to] = [measured.from, measured.to].sort((a, b) => a - b), { idle, title } = measured.program;
    add(add(details, "p"), "b", `${exactly(Math.round(to - from))} measured`);
    let idleNs = 0;
    for (let i = 0; idle && i < idle.count; i++)
      idleNs += Math.max(0, Math.min(to, idle.end[i]) - Math.max(from, idle.begin[i]));
    const share = to > from ? ` (${d3.format(".2~r")((100 * idleNs) / (to - from))} %)` : "";
    const line = add(details, "p", `from ${exactly(Math.round(from))} to ${exactly(Math.round(to))}`, "note");
    if (!idle) return;
    line.append(` · the GPU of `);
    add(line, "bdi", title);
    line.append(` is idle for ${exactly(Math.round(idleNs))} of it${share}`);
  }

  // ---- Searching ----------------------------------------------------------------------------------------------------

  function search() {
    const words = element("search").value.trim().toLowerCase();
    matches = words ? data.texts.map((text) => text.toLowerCase().includes(words)) : null;
    tellMatches();
    redraw();
  }

  // Events that match, in the order of program, begin and row: how many, how many up to the chosen one, its neighbours.
  function scanMatches() {
    const scan = { count: 0, upTo: 0, next: null, previous: null, first: null, last: null };
    const places = new Map(boxRows.map((row, n) => [row, n])), programs = data.programs;
    const compare = (a, b) =>
      programs.indexOf(a.row.program) - programs.indexOf(b.row.program) || a.row.begin[a.i] - b.row.begin[b.i] ||
      places.get(a.row) - places.get(b.row) || a.i - b.i;
    for (const row of boxRows)
      for (let i = 0; i < row.count; i++) {
        if (!matches[cell(row.text, i)]) continue;
        scan.count++;
        const event = { row, i }, order = chosen ? compare(event, chosen) : 1;
        if (order <= 0) scan.upTo++;
        if (order > 0 && (!scan.next || compare(event, scan.next) < 0)) scan.next = event;
        if (order < 0 && (!scan.previous || compare(event, scan.previous) > 0)) scan.previous = event;
        if (!scan.first || compare(event, scan.first) < 0) scan.first = event;
        if (!scan.last || compare(event, scan.last) > 0) scan.last = event;
      }
    return scan;
  }
  function tellMatches() {
    if (!matches) return void (element("found").textContent = "");
    const { count, upTo } = scanMatches(), isMatch = chosen && matches[cell(chosen.row.text, chosen.i)];
    element("found").textContent = isMatch ? `${grouped(upTo)} of ${grouped(count)}` : `${grouped(count)} found`;
  }
  function goToMatch(forward) {
    if (!matches) return;
    const scan = scanMatches(), event = forward ? scan.next ?? scan.first : scan.previous ?? scan.last;
    if (!event) return;
    choose(event);
    reveal(event);
    tellMatches();
  }

  function goToNeighbour(step) {
    if (!chosen) return;
    const { row, i } = chosen;
    if (row.begin[i + step] === undefined) return;
    choose({ row, i: i + step });
    reveal(chosen);
  }

  // ---- Input --------------------------------------------------------------------------------------------------------

  const placeOf = (event) => {
    const { left, top: above } = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - above];
  };
  // The time at a place: that of a box's edge if one is near.
  function snapped([x, y]) {
    const hit = eventAt([x, y]), time = scale.invert(x);
    if (!hit) return time;
    const { row, i } = hit, edge = time - row.begin[i] < row.end[i] - time ? row.begin[i] : row.end[i];
    return Math.abs(scale(edge) - x) <= 7 ? edge : time;
  }
  const programAt = (y) => data.programs.findLast((p) => y + scroller.scrollTop >= p.top) ?? data.programs[0];

  function setMeasuring(on) {
    measuring = on;
    element("measure").setAttribute("aria-pressed", on);
    canvas.classList.toggle("measuring", on);
    canvas.style.touchAction = on ? "none" : "";
  }

  let dragged = false;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || !(event.shiftKey || measuring)) return;
    canvas.setPointerCapture(event.pointerId);
    const place = placeOf(event), from = snapped(place);
    choose(null);
    measured = { from, to: from, program: programAt(place[1]) };
    dragged = true;
    showTip(null);
  });
  canvas.addEventListener("pointermove", (event) => {
    pointer = placeOf(event);
    if (dragged && canvas.hasPointerCapture(event.pointerId)) {
      measured.to = snapped(pointer);
      describe();
      redraw();
    } else if (!event.buttons) showTip(pointer, [event.clientX, event.clientY]);
  });
  canvas.addEventListener("pointerleave", () => {
    pointer = null;
    showTip(null);
  });
  canvas.addEventListener("pointerup", () => {
    if (!dragged) return;
    if (measured.from === measured.to) measured = null;
    describe();
    redraw();
    setTimeout(() => (dragged = false));  // after the click that this makes
  });
  canvas.addEventListener("click", (event) => {
    if (dragged) return;
    choose(eventAt(placeOf(event)));
    tellMatches();
  });
  canvas.addEventListener("dblclick", (event) => {
    const hit = eventAt(placeOf(event));
    if (hit) zoomTo(hit);
    else zoomBy(2);
  });
  canvas.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    moveBy(sideways / width);
  }, { capture: true, passive: false });

  const field = element("search"), keys = element("keys");
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") goToMatch(!event.shiftKey);
  });
  const toggleKeys = () => {
    keys.hidden = !keys.hidden;
    element("help").setAttribute("aria-expanded", !keys.hidden);
    resize();
  };
  function letGo() {
    field.value = "";
    field.blur();
    measured = null;
    setMeasuring(false);
    if (!keys.hidden) toggleKeys();
    search();
    choose(null);
  }
  const actions = {
    "+": () => zoomBy(1.5), "=": () => zoomBy(1.5), w: () => zoomBy(1.5),
    "-": () => zoomBy(1 / 1.5), s: () => zoomBy(1 / 1.5),
    ArrowLeft: () => moveBy(-0.15), a: () => moveBy(-0.15), ArrowRight: () => moveBy(0.15), d: () => moveBy(0.15),
    ArrowUp: () => (scroller.scrollTop -= 60), ArrowDown: () => (scroller.scrollTop += 60),
    ",": () => goToNeighbour(-1), ".": () => goToNeighbour(1),
    f: () => chosen && zoomTo(chosen), m: () => setMeasuring(!measuring), 0: reset, "?": toggleKeys,
    "/": () => field.focus(), Escape: letGo,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === field && event.key !== "Escape") return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  for (const [id, action] of Object.entries({
    previous: () => goToMatch(false), next: () => goToMatch(true), out: actions["-"], in: actions["+"], reset,
    measure: actions.m, help: toggleKeys,
  }))
    element(id).addEventListener("click", action);

  // ---- The page around the canvas -----------------------------------------------------------------------------------

  function addNames() {
    const names = element("names");
    for (const line of lines) {
      const box = add(names, "div", undefined, line.kind === "program" || line.kind === "group" ? line.kind : "row");
      box.style.top = `${line.top}px`;
      box.style.height = `${line.height}px`;
      if (line.kind === "program") {
        const { title, label, view } = line.program, [unit, size] = unitOf(view[1] - view[0]);
        add(add(box, "b"), "bdi", title);
        add(box, "b", `${trimmed(((view[1] - view[0]) / size).toPrecision(3))} ${unit}`);
        add(add(box, "span"), "bdi", label);
      } else add(add(box, "span"), "bdi", line.name);
      box.title = box.textContent;
    }
    content.style.height = `${top + 8}px`;
  }

  function addLegend() {
    const texts = looks.map(() => new Set());
    for (const row of boxRows)
      for (let i = 0; i < row.count; i++) {
        const paint = cell(row.paint, i);
        texts[paint].add(paint < kernelPaints ? cell(row.text, i) : 0);
      }
    looks.forEach(({ fill, height: share, meaning }, paint) => {
      const count = texts[paint].size;
      if (count === 0) return;
      const entry = add(element("legend"), "span"), swatch = add(entry, "i");
      swatch.style.height = `${Math.round(14 * share)}px`;
      if (paint === idlePaint) swatch.className = "idle";
      else swatch.style.background = fill;
      const only = count === 1 ? data.texts[[...texts[paint]][0]] : `${count} other kernels`;
      add(entry, "bdi", paint < kernelPaints ? only : meaning);
    });
  }

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "panel", "ink", "note", "grid", "focus"])
      colours[name] = style.getPropertyValue(`--${name}`).trim();
    const tile = Object.assign(document.createElement("canvas"), { width: 6, height: 6 });
    const brush = tile.getContext("2d");
    brush.fillStyle = "#efd6d6";
    brush.fillRect(0, 0, 6, 6);
    brush.strokeStyle = "#8b5a5a";
    brush.lineWidth = 1.5;
    for (const x of [-6, 0, 6]) brush.stroke(new Path2D(`M${x - 1} 7L${x + 7} -1`));
    colours.idle = context.createPattern(tile, "repeat");
    redraw();
  }

  function resize() {
    const domain = scale.domain(), ratio = window.devicePixelRatio || 1;
    width = Math.max(50, content.clientWidth - parseFloat(getComputedStyle(canvas).marginLeft));
    height = Math.max(50, scroller.clientHeight - axisHeight);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    base.range([0, width]);
    const narrowest = 20;  // ns
    zoom.extent([[0, 0], [width, height]]).translateExtent([[0, -Infinity], [width, Infinity]])
      .scaleExtent([1, Math.max(2, (base.domain()[1] - base.domain()[0]) / narrowest)]);
    show(domain);
  }

  addNames();
  addLegend();
  readColours();
  canvas.setAttribute("aria-label", `Timeline of ${data.programs.map((p) => p.title).join(" and ")}. ` +
    "Search names to find a box; comma and full stop go from box to box in its row. Question mark lists all keys.");
  describe();
  scroller.addEventListener("scroll", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
  new ResizeObserver(resize).observe(scroller);
})();

// What is written around the frames of charts and in their bars: as text of the page, placed by
// parts of the frame. No label has a place of its own in a chart, so none can move it.
const rarmodelFrames = (() => {
  const { whole, duration } = rarmodelWords;
  const frames = new Map(); // By id of the chart's element.
  const hidden = new Set(); // Sources of bars that are not in view yet.
  let waiting = false;
  // Labels of rows, by name: from fine to coarse.
  const levels = JSON.parse(document.getElementById("rows").textContent);

  // Ticks: values along an axis, and what is written at them

  function nice(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((one) => one * power).find((step) => step >= least * 0.999999);
  }

  const SECONDS = [
    10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((one) => one * 60),
    ...[1, 2, 3, 6, 12].map((one) => one * 3600),
  ];

  function niceSeconds(least) {
    if (least <= 5) return nice(least);
    return SECONDS.find((step) => step >= least) ?? nice(least / 86400) * 86400;
  }

  function multiples(from, to, step) {
    const found = [];
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k += 1) {
      found.push(k * step || 0); // Not −0.
    }
    return found;
  }

  const plain = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 6 });

  // Each gives pairs of value and text, of which `room(letters)` fit beside each other.
  const TICKS = {
    slots: (axis, from, to, room) =>
      multiples(from, to, Math.max(1, nice((to - from) / room(whole(to).length + 3))))
        .map((at) => [at, whole(at)]),
    clock: ({ seconds }, from, to, room) =>
      multiples(from * seconds, to * seconds, niceSeconds(((to - from) * seconds) / room(13)))
        .map((at) => [at / seconds, duration(at)]),
    number: (axis, from, to, room) =>
      multiples(from, to, nice((to - from) / room(8))).map((at) => [at, plain(at)]),
    percent: (axis, from, to, room) =>
      multiples(from, to, Math.max(0.01, nice((to - from) / room(6))))
        .map((at) => [at, `${Math.round(at * 100)}%`]),
    log: (axis, from, to) => {
      const powers = multiples(Math.log10(from), Math.log10(to), 1).map((k) => 10 ** k);
      const some = powers.length > 1 ? powers : [from, Math.sqrt(from * to), to];
      return some.map((at) => [at, plain(Number(at.toPrecision(2)))]);
    },
    names: (axis) => axis.names.map((name, at) => [at, name]),
  };

  // The part of a range at which a value lies.
  function part(axis, range, value) {
    const of = axis.kind === "log" ? Math.log10 : (one) => one;
    return (of(value) - of(range.start)) / (of(range.end) - of(range.start));
  }

  const percent = (value) => `${(100 * value).toFixed(4)}%`;

  function placed(kind, style, text) {
    const found = document.createElement("div");
    found.className = kind;
    Object.assign(found.style, style);
    if (text !== undefined) {
      found.textContent = text;
      found.title = text;
    }
    return found;
  }

  // Along the axis of time, and other axes across charts.
  function across(frame, size) {
    const { x, marks = [] } = frame.spec;
    const range = frame.figure.x_range;
    const at = (value) => part(x, range, value);
    const inside = (value) => at(value) > -1e-6 && at(value) < 1 + 1e-6;
    const room = (letters) => Math.max(2, size.width / (letters * size.em * 0.62));
    const seen = marks.filter((mark) => inside(mark.at));
    const write = (element, kind, words, letters) => {
      const ticks = TICKS[kind](x, range.start, range.end, room).filter(([value]) => inside(value));
      const bold = seen.filter((mark) => mark.kind === "makespan")
        .map((mark) => [mark.at, words(mark.at)]);
      // The makespan is written in any case; what would touch it is not.
      const near = (value) => bold.some(([other, text]) =>
        Math.abs(at(value) - at(other)) * size.width < (text.length + letters) * size.em * 0.31 + 6);
      element.replaceChildren(
        ...ticks.filter(([value]) => !near(value))
          .map(([value, text]) => placed("tick", { left: percent(at(value)) }, text)),
        ...bold.map(([value, text]) => placed("tick end", { left: percent(at(value)) }, text)),
      );
      return ticks;
    };
    if (frame.clock) write(frame.clock, "clock", (slot) => duration(slot * x.seconds), 9);
    const ticks = write(frame.ticks, x.kind, whole, 4);
    const lines = x.kind === "names" ? [] : ticks;
    return {
      lines: lines.map(([value]) => placed("along", { left: percent(at(value)) })),
      marks: seen.map((mark) => placed(`mark ${mark.kind}`, { left: percent(at(mark.at)) })),
    };
  }

  // Labels beside the frame; gives lines between them.
  function down(frame, size) {
    const { y } = frame.spec;
    const range = frame.figure.y_range;
    const at = (value) => 1 - part(y, range, value);
    if (y.kind === "rows") return rowsOf(frame, size, at);
    const room = () => Math.max(2, size.height / (2.4 * size.em));
    const ticks = TICKS[y.kind](y, range.start, range.end, room);
    frame.rows.replaceChildren(...ticks.map(([value, text]) =>
      placed("tick", { top: percent(at(value)) }, text)));
    return ticks.map(([value]) => placed("between-rows", { top: percent(at(value)) }));
  }

  // Labels of rows that fit: of each, or else of ranges of rows.
  function rowsOf(frame, size, at) {
    const found = levels[frame.spec.y.rows];
    const unit = Math.abs(at(1) - at(0)) * size.height;
    const [, names, edges] =
      found.find(([least]) => least * unit >= 1.12 * size.em) ?? found[found.length - 1];
    const labels = [];
    const lines = [];
    names.forEach((name, i) => {
      const [from, to] = [Math.max(at(edges[i]), 0), Math.min(at(edges[i + 1]), 1)];
      if (to <= 0 || from >= 1) return;
      if (i > 0 && at(edges[i]) >= 0) lines.push(placed("between-rows", { top: percent(from) }));
      // A row that the window cuts keeps its label while there is room for it.
      if ((to - from) * size.height < 0.9 * size.em) return;
      labels.push(placed("name", { top: percent((from + to) / 2) }, name));
    });
    frame.rows.replaceChildren(...labels);
    return lines;
  }

  // Names of jobs in the bars that have room for them

  const widths = new Map();
  const pen = document.createElement("canvas").getContext("2d");

  function width(name, font) {
    const key = `${font} ${name}`;
    if (!widths.has(key)) {
      pen.font = font;
      widths.set(key, pen.measureText(name).width);
    }
    return widths.get(key);
  }

  function inBars(frame, size) {
    const bars = frame.spec.y.bars && frame.document.get_model_by_name("bars");
    if (!bars || hidden.has(bars)) return [];
    const { x_range: time, y_range: rows } = frame.figure;
    const { job, faulty } = frame.document.get_model_by_name("runs").data;
    const { left, right, top, bottom, run, colour } = bars.data;
    const white = new Set(frame.spec.y.white);
    const [slots, height] = [time.end - time.start, rows.start - rows.end];
    const found = [];
    const name = (text, kind, sides) => {
      const [from, to] = [Math.max(sides.left, time.start), Math.min(sides.right, time.end)];
      const [above, below] = [Math.max(sides.top, rows.end), Math.min(sides.bottom, rows.start)];
      const [wide, high] = [((to - from) / slots) * size.width, ((below - above) / height) * size.height];
      if (wide < 12 || high < 1.05 * size.em) return;
      // A long name may lose its end.
      if (wide < Math.min(width(text, size.font), 9 * size.em) + 6) return;
      found.push([wide * high, () => placed(kind, {
        left: percent((from - time.start) / slots),
        width: percent((to - from) / slots),
        top: percent(((above + below) / 2 - rows.end) / height),
      }, text)]);
    };
    for (let i = 0; i < run.length; i += 1) {
      const kind = faulty[run[i]] ? "job fault" : white.has(colour[i]) ? "job white" : "job";
      name(job[run[i]], kind, { left: left[i], right: right[i], top: top[i], bottom: bottom[i] });
    }
    const away = frame.document.get_model_by_name("away")?.data;
    away?.name.forEach((reason, i) => name(reason, "job away", {
      left: away.left[i], right: away.right[i], top: away.top[i], bottom: away.bottom[i],
    }));
    return found.sort(([a], [b]) => b - a).slice(0, 400).map(([, make]) => make());
  }

  // Edges are thin where rows are, lest nothing else be seen.
  function thin(frame, size) {
    const { start, end } = frame.figure.y_range;
    const row = size.height / Math.abs(start - end) / (frame.spec.y.gpus ?? 1);
    const widths = { spread: Math.min(Math.max(row * 0.4, 0.7), 1.6), inside: row < 3 ? 0.2 : 0.5 };
    for (const { name, glyph } of frame.figure.renderers) {
      if (name in widths && glyph.line_width !== widths[name]) glyph.line_width = widths[name];
    }
  }

  function write(frame) {
    const { clientWidth, clientHeight } = frame.area;
    if (clientWidth === 0) return;
    const style = getComputedStyle(frame.front);
    const size = {
      width: clientWidth,
      height: clientHeight,
      em: parseFloat(style.fontSize),
      font: `${style.fontSize} ${style.fontFamily}`,
    };
    const { lines, marks } = across(frame, size);
    frame.back.replaceChildren(...lines, ...down(frame, size));
    thin(frame, size);
    frame.front.replaceChildren(...inBars(frame, size), ...marks, frame.cursor);
  }

  // Once before the next picture, however much has changed.
  function rewrite() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      for (const frame of frames.values()) write(frame);
    });
  }

  // A line at the pointer in all frames on the same axis of time, which tells slot and time.
  function point(frame, event) {
    const box = frame.area.getBoundingClientRect();
    const { start, end } = frame.figure.x_range;
    const slot = start + ((event.clientX - box.left) / box.width) * (end - start);
    const at = Math.floor(slot);
    for (const other of frames.values()) {
      const { x_range: range } = other.figure;
      const { cursor, spec: { x } } = other;
      cursor.hidden = x.kind !== "slots" || range.start !== start || range.end !== end;
      cursor.style.left = percent((slot - start) / (end - start));
      cursor.dataset.side = slot - start > (end - start) / 2 ? "left" : "right";
      cursor.dataset.text = other === frame ? `${x.word ?? "slot"} ${whole(at)} · ${duration(at * x.seconds)}` : "";
    }
  }

  function leave() {
    for (const { cursor } of frames.values()) cursor.hidden = true;
  }

  const resized = new ResizeObserver(rewrite);

  function add(id, spec, figure, drawn) {
    const element = document.querySelector(`[data-frame="${id}"]`);
    const frame = {
      spec, figure, element, document: drawn, cursor: placed("cursor", {}),
      ...Object.fromEntries(["clock", "rows", "area", "back", "front", "ticks"]
        .map((name) => [name, element.querySelector(`.${name}`)])),
    };
    frame.cursor.hidden = true;
    frames.set(id, frame);
    resized.observe(frame.area);
    if (spec.x.kind === "slots") {
      frame.area.addEventListener("pointermove", (event) => point(frame, event));
      frame.area.addEventListener("pointerleave", leave);
    }
    write(frame);
  }

  function tall(on) {
    for (const { figure, spec } of frames.values()) {
      if (spec.tall) figure.height = on ? spec.tall : spec.height;
    }
  }

  // Bokeh does not draw anew for a printer: what is around a chart keeps its size, too.
  addEventListener("beforeprint", () => {
    for (const { element } of frames.values()) {
      element.style.gridTemplateColumns = getComputedStyle(element).gridTemplateColumns;
    }
  });
  addEventListener("afterprint", () => {
    for (const { element } of frames.values()) element.style.gridTemplateColumns = "";
  });

  return { add, rewrite, leave, tall, frames, hidden };
})();

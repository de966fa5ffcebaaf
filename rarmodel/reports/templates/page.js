// What the charts of a page call, and the page's own controls. Texts from the input reach the page
// as text only: by textContent, and by Bokeh's tooltips, which escape them.
window.rarmodelPage = (() => {
  const documents = new Map(); // By name of a group of charts: the Bokeh document once it is drawn.
  const images = new Map(); // The data of those that are hidden.
  const whole = []; // What shows everything: ranges, and where they start and end.
  const { ofRun } = rarmodelWords;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawnOnes = () => [...documents.values()].filter((one) => one !== null);

  // Marking the blocks of a job, in each schedule in view

  function mark(drawn, name, job) {
    const [bars, marked, runs] = ["bars", name, "runs"].map((one) => drawn.get_model_by_name(one));
    if (!bars || marked.tags[0] === job) return;
    marked.tags = [job];
    const sides = ["left", "right", "top", "bottom"];
    const data = { left: [], right: [], top: [], bottom: [], colour: [] };
    const run = job === null ? -1 : runs.data.job.indexOf(job);
    if (run >= 0) {
      const ink = colour(name === "found" ? "--found" : "--ink");
      bars.data.run.forEach((other, i) => {
        if (other !== run) return;
        for (const side of sides) data[side].push(bars.data[side][i]);
        data.colour.push(ink);
      });
    }
    marked.data = data;
  }

  function showJobAt({ x, y }, bars, runs) {
    if (rarmodelFrames.hidden.has(bars)) return;
    const { left, right, top, bottom, run } = bars.data;
    let job = null;
    for (let i = 0; i < run.length; i += 1) {
      if (left[i] <= x && x < right[i] && top[i] <= y && y < bottom[i]) job = runs.data.job[run[i]];
    }
    for (const drawn of drawnOnes()) mark(drawn, "marked", job);
  }

  // Single jobs where there are many: once the window holds few enough of them.
  function showBars(across, down, area, renderers, image, most, bars) {
    const window = Math.abs((across.end - across.start) * (down.end - down.start));
    const few = (bars.data.run.length * window) / area <= most;
    if (few) rarmodelFrames.hidden.delete(bars);
    else rarmodelFrames.hidden.add(bars);
    if (few === renderers[0].visible) return;
    // Bokeh leaves what it shows beside the pointer there if an image is made invisible, but not
    // if there is none any more.
    const source = image.data_source;
    if (few) {
      images.set(source, source.data);
      source.data = Object.fromEntries(Object.keys(source.data).map((key) => [key, []]));
    } else {
      source.data = images.get(source);
    }
    for (const renderer of renderers) renderer.visible = few;
  }

  // One window for all charts on the same axis of time, and for all rows of the same kind

  const LINKED = ["time", "rows", "links"];

  function follow(range, other) {
    const { start, end } = range;
    const linked = other && range.tags[0] === other.tags[0];
    if (linked && (other.start !== start || other.end !== end)) other.setv({ start, end });
  }

  function moved(range) {
    rarmodelFrames.leave();
    if (LINKED.includes(range.name)) {
      for (const drawn of drawnOnes()) follow(range, drawn.get_model_by_name(range.name));
    }
    rarmodelFrames.rewrite();
  }

  function zoomTime(factor) {
    const axes = new Map(drawnOnes().map((drawn) => drawn.get_model_by_name("time"))
      .filter((time) => time !== null).map((time) => [time.tags[0], time]));
    for (const time of axes.values()) {
      const middle = (time.start + time.end) / 2;
      const half = ((time.end - time.start) / 2) * factor;
      const [low, high] = time.bounds;
      time.setv({ start: Math.max(middle - half, low), end: Math.min(middle + half, high) });
    }
  }

  function showWhole() {
    for (const [range, start, end] of whole) range.setv({ start, end });
  }

  function dragTo(name) {
    for (const { figure } of rarmodelFrames.frames.values()) {
      const tool = figure.toolbar.tools.find((one) => one.name === name);
      if (tool) tool.active = true;
    }
  }

  // Finding a job by name

  function find(name, status) {
    const inView = [...document.querySelectorAll(".one[data-group]:not([hidden])")]
      .map((one) => [one, documents.get(one.dataset.group)])
      .filter(([, drawn]) => drawn?.get_model_by_name("runs"));
    const said = [];
    for (const [element, drawn] of inView) {
      const runs = drawn.get_model_by_name("runs");
      const jobs = Array.from(runs.data.job);
      // As typed first: a name may begin or end with a space.
      const job = jobs.includes(name) ? name : name.trim();
      const run = jobs.indexOf(job);
      mark(drawn, "found", run < 0 ? null : job);
      if (run < 0) continue;
      const text = ["job", "ring", "slots", "rings", ...(runs.data.asked?.[run] ? ["asked"] : [])]
        .map((field) => ofRun(field, run, runs.data)).join("; ");
      if (said.length === 0) zoomTo(drawn);
      said.push(inView.length > 1 ? `${element.dataset.label}: ${text}` : text);
    }
    if (inView.length === 0) said.push("No single jobs here.");
    else if (said.length === 0) said.push(`There is no job ${name} here.`);
    status.textContent = said.join("\n");
  }

  function zoomTo(drawn) {
    const { left, right, top, bottom } = drawn.get_model_by_name("found").data;
    const gantt = drawn.get_model_by_name("gantt");
    if (left.length === 0 || !gantt.tags.includes("zoom")) return;
    const about = (range, from, to, part) => {
      const all = Math.abs(range.bounds[1] - range.bounds[0]);
      const half = Math.max((to - from) / 2, all * part) * 1.2;
      const [a, b] = [Math.max((from + to) / 2 - half, range.bounds[0]),
        Math.min((from + to) / 2 + half, range.bounds[1])];
      range.setv(range.start > range.end ? { start: b, end: a } : { start: a, end: b });
    };
    about(gantt.x_range, Math.min(...left), Math.max(...right), 0.03);
    // A ring over the whole cluster would need everything in view: its first blocks will do.
    about(gantt.y_range, top[0], bottom[0], 0.01);
  }

  // Drawing

  const settled = (drawn) => new Promise((resolve) => {
    if (drawn.is_idle) resolve();
    else drawn.idle.connect(resolve);
  });

  async function draw(group) {
    if (documents.has(group)) return;
    documents.set(group, null);
    const data = JSON.parse(document.getElementById(`data-${group}`).textContent);
    const before = new Set(Bokeh.documents);
    const id = `charts-${group}`;
    const item = { docid: id, roots: data.roots, root_ids: Object.keys(data.roots) };
    await Bokeh.embed.embed_items({ [id]: data.doc }, [item]);
    const drawn = Bokeh.documents.find((one) => !before.has(one));
    for (const figure of drawn.roots()) {
      for (const range of [figure.x_range, figure.y_range]) {
        whole.push([range, range.start, range.end]);
      }
      if (figure.tags.includes("zoom")) rarmodelFrames.hidden.add(drawn.get_model_by_name("bars"));
    }
    // A schedule that comes into view has the window of those that are there.
    for (const name of LINKED) {
      const own = drawn.get_model_by_name(name);
      for (const other of own ? drawnOnes() : []) {
        const shown = other.get_model_by_name(name);
        if (shown) follow(shown, own);
      }
    }
    documents.set(group, drawn);
    await settled(drawn);
    for (const figure of drawn.roots()) {
      const element = data.roots[figure.id];
      rarmodelFrames.add(element, data.frames[element], figure, drawn);
    }
    dragTo(document.querySelector('[name="drag"]:checked')?.value ?? "zoom");
    if (document.getElementById("tall")?.checked) rarmodelFrames.tall(true);
  }

  // Which two schedules are in view

  let pair = [];
  const role = (schedule) => ["first", "second"][pair.indexOf(Number(schedule))] ?? "";

  async function compare() {
    for (const one of document.querySelectorAll("[data-schedule]")) {
      one.dataset.role = role(one.dataset.schedule);
      if (!one.classList.contains("one")) continue;
      one.hidden = one.dataset.role === "";
      one.style.order = one.dataset.role === "first" ? 0 : 1;
    }
    for (const radio of document.querySelectorAll(".choose input")) {
      radio.checked = pair[radio.name === "above" ? 0 : 1] === Number(radio.value);
    }
    await draw("overview");
    for (const figure of documents.get("overview").roots()) {
      for (const renderer of figure.renderers) {
        if (!renderer.name?.startsWith("line-")) continue;
        const of = role(renderer.name.slice("line-".length));
        renderer.glyph.line_color = colour(of ? `--${of}` : "--other");
        renderer.glyph.line_width = of ? 2.2 : 1;
        renderer.level = of ? "glyph" : "underlay";
      }
    }
    for (const one of pair) await draw(`schedule-${one}`);
    rarmodelFrames.rewrite();
    document.documentElement.dataset.pair = pair.join(" ");
  }

  function chooseSchedule(radio) {
    const [place, value] = [radio.name === "above" ? 0 : 1, Number(radio.value)];
    if (pair[1 - place] === value) pair[1 - place] = pair[place];
    pair[place] = value;
    return compare();
  }

  async function chooseTab(tab) {
    for (const other of tab.parentElement.children) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    await draw(tab.dataset.group);
    document.getElementById(tab.getAttribute("aria-controls")).dataset.drawn = "yes";
  }

  // Controls

  function listen() {
    const on = (selector, event, act) => {
      for (const one of document.querySelectorAll(selector)) {
        one.addEventListener(event, () => act(one));
      }
    };
    on('[name="drag"]', "change", (one) => dragTo(one.value));
    on("#tall", "change", (one) => rarmodelFrames.tall(one.checked));
    on("#closer", "click", () => zoomTime(0.5));
    on("#further", "click", () => zoomTime(2));
    on("#whole", "click", showWhole);
    on(".choose input", "change", chooseSchedule);
    for (const form of document.querySelectorAll("form.find")) {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        find(form.elements.job.value, document.getElementById("found"));
      });
    }
    const tabs = [...document.querySelectorAll('[role="tab"]')];
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => chooseTab(tab));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        const next = tabs[(to + tabs.length) % tabs.length];
        next.focus();
        chooseTab(next);
      });
    });
    return tabs;
  }

  async function open() {
    Bokeh.set_log_level("error");
    const tabs = listen();
    const { pair: first } = document.body.dataset;
    if (first !== undefined) {
      pair = first.split(" ").map(Number);
      await compare();
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", compare);
    } else if (tabs.length > 0) {
      await chooseTab(tabs[0]);
    } else {
      for (const data of document.querySelectorAll('script[id^="data-"]')) {
        await draw(data.id.slice("data-".length));
      }
    }
    performance.mark("rarmodel-ready");
    document.documentElement.dataset.ready = "yes";
  }

  document.addEventListener("DOMContentLoaded", open);
  return { ...rarmodelWords, moved, showJobAt, showBars };
})();

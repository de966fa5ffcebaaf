"use strict";
// What the charts of a page call, and the page's own controls. Texts from the input reach the page
// as text only: by textContent, and by Bokeh's tooltips, which escape them.
window.rarmodelPage = (() => {
  const documents = new Map(); // By name of a group of charts: the Bokeh document once it is drawn.
  const images = new Map(); // The data of those that are hidden.
  const whole = (value) => Math.round(value).toLocaleString("en-US");
  const count = (number, what) => `${whole(number)} ${what}${number === 1 ? "" : "s"}`;

  // Tooltips

  function ofRun(field, run, data) {
    const end = data.end[run];
    const start = data.start[run];
    switch (field) {
      case "job":
        return data.job[run] + (data.faulty[run] ? " (breaks a constraint)" : "");
      case "ring":
        return `${count(data.size[run], "GPU")} on ${count(data.servers[run], "server")}`;
      case "slots": {
        if (end === null) {
          return data.carried[run]
            ? `from ${whole(start)}, never complete`
            : `from ${whole(start)}; cannot be carried out`;
        }
        const least = data.least[run];
        const alone = least === null ? "" : `; alone at least ${whole(least)}`;
        return `${whole(start)} to ${whole(end)} (${whole(end - start)}${alone})`;
      }
      default:
        return data.rings[run] === 0
          ? "uses no link"
          : `at most ${count(data.rings[run], "ring")} on a link it uses`;
    }
  }

  function ofBar(first, index, data, servers) {
    const last = first + data.gpus[index] - 1;
    const gpus = last === first ? `GPU ${first}` : `GPUs ${first} to ${last}`;
    return `${servers[data.server[index]]}, ${gpus}`;
  }

  const ofRow = (y, names) => names[Math.min(Math.max(Math.floor(y), 0), names.length - 1)];

  function ofBin(x, end, bins) {
    const bin = Math.min(Math.max(Math.floor((x / end) * bins), 0), bins - 1);
    const [from, to] = [Math.floor((bin * end) / bins), Math.ceil(((bin + 1) * end) / bins)];
    return to - from <= 1 ? whole(from) : `${whole(from)} to ${whole(to - 1)}`;
  }

  // Marking the blocks of a job

  function mark(bars, marked, run) {
    if (marked.tags[0] === run) return;
    marked.tags = [run];
    const data = { left: [], right: [], top: [], bottom: [] };
    if (run !== null) {
      bars.data.run.forEach((other, i) => {
        if (other === run) for (const side of Object.keys(data)) data[side].push(bars.data[side][i]);
      });
    }
    marked.data = data;
  }

  function showJobAt(hit, bars, marked) {
    if (hit.indices.length > 0) mark(bars, marked, bars.data.run[hit.indices[0]]);
  }

  // Single jobs where there are many: once the window holds few enough of them.
  function showBars(across, down, area, renderers, image, most, bars) {
    const window = Math.abs((across.end - across.start) * (down.end - down.start));
    const few = (bars.data.run.length * window) / area <= most;
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

  function find(group, name, status) {
    const drawn = documents.get(group);
    const runs = drawn?.get_model_by_name("runs");
    const jobs = Array.from(runs?.data.job ?? []);
    // As typed first: a name may begin or end with a space.
    const run = jobs.includes(name) ? jobs.indexOf(name) : jobs.indexOf(name.trim());
    if (run < 0) {
      status.textContent = runs ? `There is no job ${name} in this chart.` : "No single jobs here.";
      return;
    }
    const found = drawn.get_model_by_name("found");
    mark(drawn.get_model_by_name("bars"), found, run);
    const { left, right, top, bottom } = found.data;
    const gantt = drawn.get_model_by_name("gantt");
    if (left.length > 0 && gantt.tags.includes("zoom")) {
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
    status.textContent = ["job", "ring", "slots", "rings"]
      .map((field) => ofRun(field, run, runs.data)).join("; ");
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
    documents.set(group, drawn);
    await settled(drawn);
  }

  async function choose(tab) {
    for (const other of tab.parentElement.children) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    const group = tab.dataset.group;
    await draw(group);
    document.getElementById(tab.getAttribute("aria-controls")).dataset.drawn = "yes";
  }

  async function open() {
    Bokeh.set_log_level("error");
    const tabs = [...document.querySelectorAll('[role="tab"]')];
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => choose(tab));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        const next = tabs[(to + tabs.length) % tabs.length];
        next.focus();
        choose(next);
      });
    });
    for (const form of document.querySelectorAll("form.find")) {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        find(form.dataset.group, form.elements.job.value, form.querySelector("output"));
      });
    }
    const behindTabs = new Set(tabs.map((tab) => tab.dataset.group));
    for (const data of document.querySelectorAll('script[id^="data-"]')) {
      const group = data.id.slice("data-".length);
      if (!behindTabs.has(group)) await draw(group);
    }
    if (tabs.length > 0) await choose(tabs[0]);
    performance.mark("rarmodel-ready");
    document.documentElement.dataset.ready = "yes";
  }

  document.addEventListener("DOMContentLoaded", open);
  return { ofRun, ofBar, ofRow, ofBin, showJobAt, showBars };
})();

"use strict";
// Draws the charts of the page with Vega, as wide as the window, and as light or dark as it is.
// Texts from the input reach the page as text only: Vega's tooltips escape them.
const rarmodelViews = {}; // What Vega has drawn, by the id of its element.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const LEAST = 320; // Pixels of a frame; below, the reader scrolls.
  const actions = { export: true, source: false, compiled: false, editor: false };
  const widths = new Map();

  const visible = (element) => element.offsetParent !== null;
  const room = (element) =>
    Math.max(LEAST, Math.min(element.parentElement.clientWidth, 1400) - Number(element.dataset.margin));

  async function draw(element) {
    const across = room(element);
    if (!visible(element) || widths.get(element.id) === across) return;
    widths.set(element.id, across);
    const chart = JSON.parse(document.getElementById(`data-${element.id}`).textContent);
    chart.config = { ...chart.config, view: { ...chart.config?.view, continuousWidth: across } };
    for (const param of chart.params ?? []) {
      if (param.name === "across") param.value = across;
      if (param.name === "dark") param.value = dark.matches;
    }
    rarmodelViews[element.id]?.finalize();
    const choices = document.getElementById(`${element.id}-choices`);
    choices?.replaceChildren();
    const options = { actions, renderer: "canvas", ...(choices ? { bind: choices } : {}) };
    rarmodelViews[element.id] = (await vegaEmbed(element, chart, options)).view;
  }

  const drawAll = () => Promise.all([...document.querySelectorAll(".chart")].map(draw));

  function shade(on) {
    for (const view of Object.values(rarmodelViews)) {
      if (Object.hasOwn(view.getState().signals, "dark")) view.signal("dark", on).run();
    }
  }

  // The part of the time in view: twice or half of it, or all.
  function zoom({ zoom: factor, of }) {
    const view = rarmodelViews[of];
    for (const name of ["slots", "slots_below"].filter((one) => `${one}_slot` in view.getState().signals)) {
      const now = view.signal(name).slot ?? view.scale(scaleOf(view)).domain();
      const [middle, half] = [(now[0] + now[1]) / 2, ((now[1] - now[0]) / 2) * Number(factor)];
      view.signal(`${name}_slot`, factor === "all" ? null : [Math.max(middle - half, 0), middle + half]);
    }
    view.runAsync();
  }

  // A chart's scale of time, by its name within Vega.
  const scaleOf = (view) => Object.keys(view._runtime.scales).find((name) => name.endsWith("x"));

  dark.addEventListener("change", () => shade(dark.matches));
  addEventListener("beforeprint", () => shade(false));
  addEventListener("afterprint", () => shade(dark.matches));
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 200);
  });
  document.addEventListener("toggle", drawAll, true);
  document.addEventListener("click", ({ target }) => {
    if (target.dataset?.zoom) zoom(target.dataset);
  });
  document.addEventListener("DOMContentLoaded", async () => {
    await drawAll();
    performance.mark("rarmodel-ready");
    document.documentElement.dataset.ready = "yes";
  });
})();

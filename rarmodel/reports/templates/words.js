"use strict";
// How numbers, lengths of time and jobs are written beside the pointer and along the axes.
const rarmodelWords = (() => {
  const whole = (value) => Math.round(value).toLocaleString("en-US");
  const count = (number, what) => `${whole(number)} ${what}${number === 1 ? "" : "s"}`;

  // As rarmodel.duration writes it: in the two greatest units.
  const UNITS = [["d", 86400, "h", 3600], ["h", 3600, "min", 60], ["min", 60, "s", 1]];

  function duration(seconds) {
    if (seconds < 0) return `−${duration(-seconds)}`;
    if (seconds < 10) return `${Number(seconds.toPrecision(3))} s`;
    const all = Math.round(seconds);
    for (const [unit, size, smaller, part] of UNITS) {
      if (all < size) continue;
      const rest = Math.round((all % size) / part);
      if (rest * part === size) return duration(all - (all % size) + size);
      return `${whole(Math.floor(all / size))} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
    }
    return `${all} s`;
  }

  function ofRun(field, run, data, seconds) {
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
      case "time": {
        const from = duration(start * seconds);
        if (end === null) return `from ${from}`;
        return `${from} to ${duration(end * seconds)} (${duration((end - start) * seconds)})`;
      }
      case "asked":
        return data.asked[run] || "nothing";
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

  function ofBin(field, x, end, bins, seconds) {
    const bin = Math.min(Math.max(Math.floor((x / end) * bins), 0), bins - 1);
    const [from, to] = [Math.floor((bin * end) / bins), Math.ceil(((bin + 1) * end) / bins)];
    if (field === "time") return `${duration(from * seconds)} to ${duration(to * seconds)}`;
    return to - from <= 1 ? whole(from) : `${whole(from)} to ${whole(to - 1)}`;
  }

  return { whole, duration, ofRun, ofBar, ofRow, ofBin };
})();

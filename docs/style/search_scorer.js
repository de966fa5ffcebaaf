// Tutorials and guides come before what one looks up, and that before the API reference.
const LATER = { api: 50, formulations: 12, cli: 8, formats: 8, "json-output": 12, glossary: 8, migration: 12, parts: 8 };
const SOUGHT = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: function (result) {
    // [page, title, anchor, description, score, file]
    const later = LATER[result[0].split("/")[0]] || 0;
    const named = SOUGHT && String(result[1]).toLowerCase().includes(SOUGHT) ? 10 : 0;
    return result[4] - later + named; // A page named by what is sought comes before one with it in a heading.
  },
};

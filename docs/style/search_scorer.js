// Tutorials and guides come before what one looks up, and that before the API reference.
const LATER = { api: 50, formulations: 12, cli: 8, formats: 8, "json-output": 12, glossary: 8, migration: 12, parts: 8 };
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
    return result[4] - (LATER[result[0].split("/")[0]] || 0);
  },
};

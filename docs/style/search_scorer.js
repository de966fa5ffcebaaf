// Guides come before the API reference, and a page's title before words in its text.
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
    return result[0].startsWith("api/") ? result[4] - 50 : result[4];
  },
};

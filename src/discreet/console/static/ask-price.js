// What the price card of /ask shows: the same as its template (ask_price.html) writes where there are no scripts.
export const make = (name, said = "", more = {}) => Object.assign(document.createElement(name), { textContent: said }, more);
const shown = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

/** The parts of a price. `choose`: called with the column that the plus or minus shall be for. */
export function cost(found, { choose }) {
  const facts = make("dl", "", { className: "facts" });
  const add = (name, said) => facts.append(make("dt", name), make("dd", said));
  add("Cost", found.cost.words);
  if (found.remaining_after) {
    add("Remaining afterwards", found.remaining_after.words);
    if (found.counts) facts.lastChild.append(make("br"), countsLeft(found.counts));
  }
  if (found.region) add("Region", found.region);
  const parts = [facts];
  if (found.free) parts.unshift(make("p", `Free: ${found.free}.`, { className: "good" }));
  if (found.closes.length) parts.push(make("p", "After it, the remaining budget is too small for:"), closed(found.closes));
  if (found.plan) parts.push(...plan(found));
  else if (found.errors.length) {
    const list = make("ul", "", { className: "errors" });
    list.append(...found.errors.map((each) => errorOf(each, found, choose)));
    parts.push(make("h3", "Error"), list);
  }
  if (found.known) parts.push(make("p", `${found.known}.`));
  if (found.parts.length) parts.push(reasons(found));
  return parts;
}

function closed(closes) {
  const list = make("ul", "", { className: "errors" });
  for (const { words, to } of closes) {
    const item = make("li");
    item.append(make("a", words, { href: to }));
    list.append(item);
  }
  return list;
}

/** A column's error; its name is a button where the plus or minus can be for it. */
function errorOf({ column, words }, { columns, column: chosen }, choose) {
  if (!columns.includes(column) || !words.startsWith(`${column}: `)) return make("li", words);
  const item = make("li");
  const name = make("button", column, { type: "button", className: "put", title: `Set plus or minus for ${column}` });
  name.ariaPressed = String(column === chosen);
  name.addEventListener("click", () => choose(column === chosen ? "" : column));
  item.append(name, words.slice(column.length));
  return item;
}

function countsLeft({ now, after }) {
  const fewer = after < now ? ` (${(now - after).toLocaleString("en")} fewer than now)` : "";
  return `about ${after.toLocaleString("en")} more counts at ±50${fewer}`;
}

function plan({ plan: { together, strategy, statements } }) {
  const list = make("ol", "", { className: "errors" });
  for (const { title, measured, noise } of statements) {
    const item = make("li");
    const widths = noise.map(({ column, plus_minus: width, apart }) => {
      if (width === null) return `${column}: its error depends on the data`;
      return `${column}: ±${shown(width)}${together && apart !== null ? ` (±${shown(apart)} if asked alone for the same price)` : ""}`;
    });
    item.append(make("strong", title), `, measured ${measured}`, make("br"), widths.join("; "));
    list.append(item);
  }
  const said = `${statements.length} statements, measured ${together ? "together" : "one by one"}: ${strategy}.`;
  return [make("h3", "Plan"), make("p", said), list];
}

function reasons(found) {
  const why = make("details");
  const tree = make("ul", "", { className: "tree" });
  for (const part of found.parts) {
    const item = make("li", `${part.statistic}: one person changes it by at most ${part.l1}`);
    const lines = make("ul");
    lines.append(...part.because.map((line) => make("li", line)));
    item.append(lines);
    tree.append(item);
  }
  why.append(make("summary", "Why so much noise"), tree, make("p", found.because));
  return why;
}

/** A refusal, with the place that it is about and what can be taken instead. */
export function refusal(problem, { show, take }) {
  const box = make("div", "", { className: "bad" });
  const said = make("p");
  said.append(make("strong", problem.error));
  box.append(said);
  if (problem.excerpt) {
    box.append(make("pre", problem.excerpt, { className: "excerpt", tabIndex: 0 }));
    const there = make("button", "Show it in the text", { type: "button", className: "quiet" });
    there.addEventListener("click", () => show(problem.start, problem.start + problem.width));
    box.append(there);
  }
  if (problem.hint) box.append(make("p", `Try: ${problem.hint}`));
  if (problem.offers?.length) {
    const row = make("p", "", { className: "row" });
    for (const offer of problem.offers) {
      const button = make("button", offer.words, { type: "button", className: "quiet" });
      button.addEventListener("click", () => take(offer.take));
      row.append(button);
    }
    box.append(row);
  }
  if (problem.status === 402) {
    const more = make("p", "Or ");
    more.append(make("a", "request more budget", { href: "/budget#requests" }), ".");
    box.append(more);
  }
  return box;
}

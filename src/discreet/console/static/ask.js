// The editor of /ask: words while typing, the price while typing, a slider, and a way to cancel. All of it works without.
import { keep, recall } from "./drafts.js";

const form = document.getElementById("ask");
const text = form.elements.sql;
const priced = document.getElementById("priced");
const trouble = document.getElementById("trouble");
const confirming = document.getElementById("confirm");
const make = (name, said = "", more = {}) => Object.assign(document.createElement(name), { textContent: said }, more);

document.querySelectorAll(".with-script").forEach((each) => { each.hidden = false; });
document.querySelectorAll(".without-script").forEach((each) => { each.hidden = true; });

// -- drafts: what was typed is kept in this tab ------------------------------------------------

const who = form.dataset.who;
const NAMES = ["sql", "by", "epsilon", "within", "confidence", "delta", "rows", "key"];
const example = document.getElementById("example");

function fields() {
  const found = Object.fromEntries(NAMES.map((name) => [name, form.elements[name].value]));
  return { ...found, fresh: form.elements.fresh.checked };
}

function put(values) {
  for (const name of NAMES) if (values[name]) form.elements[name].value = values[name];
  form.elements.sql.value = values.sql;
  form.elements.fresh.checked = values.fresh === true;
}

form.autocomplete = "off"; // or the browser would put back later, and without a word, what was ticked before
const restored = document.getElementById("restored");
const draft = recall(who, { typed: text.value.trim() !== "" });
const before = fields();
const isOther = draft !== null && NAMES.some((name) => name !== "key" && draft.fields[name] !== before[name]);
if (draft) {
  put(draft.fields);
  restored.hidden = !draft.isNew;
  if (draft.sent) keep(who, fields()); // it came back without an answer
}
document.getElementById("empty").addEventListener("click", () => {
  text.value = "";
  text.focus();
  text.dispatchEvent(new Event("input", { bubbles: true }));
});
example?.querySelector("button").addEventListener("click", (event) => {
  event.preventDefault();
  taken(event.target.value);
});

// -- the price, as you type ------------------------------------------------------------------

let waiting = 0;
let newest = 0;

function later() {
  keep(who, fields());
  clearTimeout(waiting);
  waiting = setTimeout(price, 400);
  newest += 1; // what is on its way is the price of another text
  if (!text.value.trim()) return blank();
  if (example) example.hidden = true;
  confirming.textContent = "Computing the price …";
}

function blank() {
  clearTimeout(waiting);
  if (example) example.hidden = false;
  restored.hidden = true;
  trouble.replaceChildren();
  priced.replaceChildren(make("p", "The price and the expected error appear here before you pay.", { className: "soft" }));
  confirming.textContent = "Type a query. Prices and rehearsals are free.";
}

// No price is shown that is not the price of what stands in the box.
function unknown(said, link = null) {
  const line = make("p", said);
  if (link) line.append(" ", link);
  trouble.replaceChildren();
  priced.replaceChildren(line);
  confirming.textContent = "The price of this query is unknown.";
}

function refused(status) {
  if (status === 401) {
    const link = make("a", "Log in again", { href: `/login?next=${encodeURIComponent(location.pathname)}` });
    return unknown("The price is unknown, because your session has ended. This tab keeps what you typed.", link);
  }
  if (status === 403) {
    const link = make("a", "Load the page again", { href: location.pathname });
    return unknown("The price is unknown, because you have logged in again since this page was loaded. This tab keeps what you typed.", link);
  }
  return unknown("The price is unknown: the server could not compute it. Change the query to try again.");
}

async function price() {
  const turn = ++newest;
  if (!text.value.trim()) return blank();
  const body = new URLSearchParams(new FormData(form));
  let found;
  try {
    const answer = await fetch("/ask/price", { method: "POST", body, headers: { accept: "application/json" } });
    if (turn !== newest) return;
    if (answer.status === 429) { // too many at once: a moment later
      clearTimeout(waiting);
      waiting = setTimeout(price, 2000);
      return;
    }
    if (answer.status !== 200) return refused(answer.status);
    found = await answer.json();
  } catch {
    if (turn === newest) unknown("The price is unknown: the server does not respond. Change the query to try again.");
    return;
  }
  if (turn !== newest || found.accepted === undefined) return;
  trouble.replaceChildren(...(found.accepted ? [] : [refusal(found.problem)]));
  priced.replaceChildren(...(found.accepted ? cost(found) : [make("p", "Nothing was charged.", { className: "soft" })]));
  confirming.textContent = found.accepted ? found.confirm : "A refusal is free.";
  if (found.accepted && form.elements.by.value === "within" && found.cost.epsilon > 0) {
    epsilon.value = Number(found.cost.epsilon.toPrecision(3)); // the same wish, on the slider
    follow();
  }
}

function cost(found) {
  const facts = make("dl", "", { className: "facts" });
  const add = (name, ...said) => facts.append(make("dt", name), ...said.map((each) => make("dd", each)));
  add("Cost", found.cost.words);
  if (found.remaining_after) add("Remaining after it", found.remaining_after.words);
  for (const each of found.errors) add("Error", each.words);
  if (found.region) add("Region", found.region);
  const parts = [facts];
  if (found.free) parts.unshift(make("p", `Free: ${found.free}.`, { className: "good" }));
  if (found.known) parts.push(make("p", `${found.known}.`));
  if (found.parts.length) {
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
    parts.push(why);
  }
  return parts;
}

function refusal(problem) {
  const box = make("div", "", { className: "bad" });
  const said = make("p");
  said.append(make("strong", problem.error));
  box.append(said);
  if (problem.excerpt) {
    box.append(make("pre", problem.excerpt, { className: "excerpt", tabIndex: 0 }));
    const there = make("button", "Show it in the text", { type: "button", className: "quiet" });
    there.addEventListener("click", () => {
      text.focus();
      text.setSelectionRange(problem.start, problem.start + problem.width);
    });
    box.append(there);
  }
  if (problem.hint) box.append(make("p", `Try: ${problem.hint}`));
  for (const offer of problem.offers ?? []) {
    const take = make("button", offer.words, { type: "button", className: "quiet" });
    take.addEventListener("click", () => taken(offer.take));
    box.append(take);
  }
  if (problem.status === 402) {
    const more = make("p", "Or ");
    more.append(make("a", "request more budget", { href: "/budget#requests" }), ".");
    box.append(more);
  }
  return box;
}

function taken(told) {
  const place = told.indexOf(" ");
  const [name, value] = [told.slice(0, place), told.slice(place + 1)];
  form.elements[name].value = value;
  if (name !== "sql") form.querySelector(`[name=by][value=${name}]`).checked = true;
  text.focus();
  later();
  price();
}

form.addEventListener("input", later);
form.addEventListener("change", later);

// -- the slider: one end is more private, the other more exact ---------------------------------

const slider = document.getElementById("slider");
const epsilon = document.getElementById("epsilon");
const within = document.getElementById("within");
const chosen = (name) => { form.querySelector(`[name=by][value=${name}]`).checked = true; };

function follow() {
  const value = Number(epsilon.value);
  if (value > 0) slider.value = Math.log10(value);
  slider.setAttribute("aria-valuetext", `epsilon ${epsilon.value}`);
}
slider.addEventListener("input", () => {
  epsilon.value = Number((10 ** Number(slider.value)).toPrecision(2));
  chosen("epsilon");
  follow();
});
epsilon.addEventListener("input", () => { chosen("epsilon"); follow(); });
within.addEventListener("input", () => chosen("within"));
follow();

// -- words: tables, columns, functions, values -------------------------------------------------

const list = document.getElementById("words");
const status = document.getElementById("words-said");
let words = [];
let active = -1;
const quoted = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

async function learn() {
  const told = await (await fetch("/ask.json")).json();
  const clauses = ["SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "AS", "AND", "OR", "NOT", "NULL"];
  words = clauses.map((word) => ({ word, put: word, of: "" }));
  for (const table of told.tables) {
    words.push({ word: table.name, put: quoted(table.name), of: "table" });
    for (const key of table.keys) words.push({ word: key, put: quoted(key), of: `person of ${table.name}` });
    for (const column of table.columns) {
      words.push({ word: column.name, put: quoted(column.name), of: `column of ${table.name}` });
      for (const value of column.values) {
        words.push({ word: value, put: `'${value.replaceAll("'", "''")}'`, of: `value of ${column.name}` });
      }
    }
  }
  words.push(...told.functions.map((word) => ({ word, put: `${word}(`, of: "function" })));
}

function begun() {
  const before = text.value.slice(0, text.selectionStart);
  return before.match(/[\p{L}\p{N}_'"]*$/u)[0];
}

function suggest(always) {
  const typed = begun();
  const small = typed.replace(/^['"]/, "").toLowerCase();
  const seen = new Set();
  const found = small.length || always
    ? words.filter((each) => each.word.toLowerCase().startsWith(small) && each.word.toLowerCase() !== small
        && !seen.has(each.put) && seen.add(each.put)).slice(0, 8)
    : [];
  if (!found.length) return close();
  list.replaceChildren(...found.map((each, place) => {
    const item = make("li", each.word, { id: `word-${place}` });
    item.setAttribute("role", "option");
    item.dataset.put = each.put;
    if (each.of) item.append(make("span", each.of, { className: "soft small" }));
    item.addEventListener("mousedown", (event) => { event.preventDefault(); take(item); });
    return item;
  }));
  list.hidden = false;
  mark(-1);
  status.textContent = `${found.length} suggestions`;
}

function close() {
  list.hidden = true;
  mark(-1);
  status.textContent = "";
}

function mark(place) {
  active = place;
  [...list.children].forEach((item, number) => item.setAttribute("aria-selected", number === place));
  if (place < 0) text.removeAttribute("aria-activedescendant");
  else text.setAttribute("aria-activedescendant", `word-${place}`);
}

function take(item) {
  const typed = begun();
  text.setRangeText(item.dataset.put, text.selectionStart - typed.length, text.selectionStart, "end");
  close();
  later();
}

text.setAttribute("aria-autocomplete", "list");
text.setAttribute("aria-controls", "words");
text.addEventListener("input", () => suggest(false));
text.addEventListener("blur", close);
text.addEventListener("keydown", (event) => {
  if (event.key === " " && event.ctrlKey) {
    event.preventDefault();
    suggest(true);
  } else if (list.hidden) {
    return;
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const step = event.key === "ArrowDown" ? 1 : -1;
    const places = list.children.length;
    mark(active < 0 ? (step > 0 ? 0 : places - 1) : (active + step + places) % places);
  } else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) {
    event.preventDefault();
    take(list.children[active]);
  } else if (event.key === "Escape") {
    event.preventDefault();
    close();
  }
});

// -- asking, and taking it back ----------------------------------------------------------------

const cancel = document.getElementById("cancel");
form.addEventListener("submit", (event) => {
  const given = event.submitter?.name === "take" ? event.submitter.value : "";
  const [, name, value] = given.match(/^(sql|epsilon|within) ([^]*)$/) ?? [];
  keep(who, { ...fields(), ...(name ? { [name]: value } : {}) }, { sent: true });
  if (event.submitter?.value !== "ask" || event.submitter.name !== "act") return;
  cancel.hidden = false;
  confirming.textContent = "The query is running.";
});
let stopping = 0;
cancel.addEventListener("click", () => {
  cancel.disabled = true;
  confirming.textContent = "The query is being cancelled. What was charged stays charged.";
  const body = new URLSearchParams(new FormData(form));
  const stop = () => fetch("/ask/cancel", { method: "POST", body }).catch(() => {});
  stopping = setInterval(stop, 1000); // the question itself may still be on its way there
  stop();
});
addEventListener("pageshow", (event) => {
  clearInterval(stopping);
  cancel.hidden = true;
  cancel.disabled = false;
  if (event.persisted) price(); // the page is as it was left, and the budget may not be
});

learn().catch(() => {});
document.getElementById("rehearsal")?.scrollIntoView();
if (isOther || !trouble.children.length) price();

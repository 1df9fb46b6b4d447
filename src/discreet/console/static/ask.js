// The editor of /ask: SQL with highlighting and words, the price while typing, a slider, and a way to cancel. All of it
// works without: the text box of the form is what is sent, and every button has a form of its own.
import { cost, make, refusal } from "./ask-price.js";
import { openBuilder, openWords } from "./ask-builder.js";
import { keep, recall } from "./drafts.js";
import { openEditor } from "./sql-editor.js";

const form = document.getElementById("ask");
const text = form.elements.sql;
const card = document.getElementById("price");
const pricing = document.getElementById("pricing");
const priced = document.getElementById("priced");
const trouble = document.getElementById("trouble");
const confirming = document.getElementById("confirm");
const askButton = form.querySelector("button[name=act][value=ask]");

document.querySelectorAll(".with-script").forEach((each) => { each.hidden = false; });
document.querySelectorAll(".without-script").forEach((each) => { each.hidden = true; });

const editor = openEditor({
  box: text, label: document.getElementById("sql-label"), describedBy: "sql-hint", changed: () => later(), run: () => runNow(),
});

// -- drafts: what was typed is kept in this tab ------------------------------------------------

const who = form.dataset.who;
const NAMES = ["sql", "by", "epsilon", "within", "column", "confidence", "delta", "rows", "key"];
const example = document.getElementById("example");

function fields() {
  const found = Object.fromEntries(NAMES.map((name) => [name, form.elements[name].value]));
  return { ...found, fresh: form.elements.fresh.checked };
}

function put(values) {
  if (values.column) offerColumns([values.column], values.column);
  for (const name of NAMES) if (values[name]) form.elements[name].value = values[name];
  editor.restore(values.sql);
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
  editor.write("");
  editor.focus();
});
example?.querySelector("button").addEventListener("click", (event) => {
  event.preventDefault();
  taken(event.target.value);
});

// -- the price, as you type ------------------------------------------------------------------

let waiting = 0;
let newest = 0;
let current = null; // what the server said of what stands in the box; null while that is not known

function later() {
  keep(who, fields());
  clearTimeout(waiting);
  waiting = setTimeout(price, 400);
  newest += 1; // what is on its way is the price of another text
  if (!text.value.trim()) return blank();
  if (example) example.hidden = true;
  restored.hidden = true;
  mark(true);
  confirming.textContent = "Computing the price …";
}

/** Marks the price card: what it shows is the price of an older text. */
function mark(open) {
  current = null;
  pricing.hidden = !open;
  card.classList.toggle("is-pricing", open);
  card.ariaBusy = String(open);
}

function blank() {
  clearTimeout(waiting);
  mark(false);
  if (example) example.hidden = false;
  restored.hidden = true;
  trouble.replaceChildren();
  priced.replaceChildren(make("p", "The price and the expected error appear here before you pay.", { className: "soft" }));
  confirming.textContent = "Type a query. Prices and rehearsals are free.";
}

// No price is shown that is not the price of what stands in the box.
function unknown(said, link = null) {
  mark(false);
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
  mark(true);
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
  mark(false);
  current = found;
  if (found.accepted || found.columns?.length) offerColumns(found.columns, found.column);
  const problem = found.accepted ? null : found.problem;
  trouble.replaceChildren(...(problem ? [refusal(problem, { show: editor.select, take: taken })] : []));
  priced.replaceChildren(...(problem ? [make("p", "Nothing was charged.", { className: "soft" })] : cost(found, { choose: chooseColumn })));
  confirming.textContent = problem ? "A refusal is free." : found.confirm;
  if (problem && Number.isInteger(problem.start)) editor.point(problem.start, problem.start + problem.width);
  if (!problem) link(found.linked);
}

/** The field that was not chosen follows the one that was: the same wish, said the other way. */
function link(linked) {
  const name = form.elements.by.value === "within" ? "epsilon" : "within";
  if (document.activeElement !== form.elements[name]) form.elements[name].value = linked[name];
  follow();
}

/** The columns that the plus or minus can be for; an older one that the query does not have any more is none. */
function offerColumns(columns, column) {
  const list = form.elements.column;
  list.replaceChildren(list.options[0], ...columns.map((each) => make("option", each, { value: each })));
  list.value = column;
  document.getElementById("of-column").hidden = !columns.length;
}

function chooseColumn(column) {
  form.elements.column.value = column;
  form.elements.column.focus(); // the button that was clicked goes with the old price
  later();
  price();
}

function taken(told) {
  const place = told.indexOf(" ");
  const [name, value] = [told.slice(0, place), told.slice(place + 1)];
  if (name === "sql") editor.write(value);
  else form.elements[name].value = value;
  if (name !== "sql") form.querySelector(`[name=by][value=${name}]`).checked = true;
  editor.focus();
  later();
  price();
}

form.addEventListener("input", later);
form.addEventListener("change", later);

/** Control+Enter asks, but only at a price that is on the page. */
function runNow() {
  if (!text.value.trim()) return empty();
  if (current?.accepted) return form.requestSubmit(askButton);
  if (current === null) confirming.textContent = "The price is not ready yet. Press Control+Enter again when the page shows it.";
}

function empty() {
  confirming.textContent = "Type a query first.";
  editor.focus();
}

// -- the slider: one end is more private, the other more exact ---------------------------------

const slider = document.getElementById("slider");
const epsilon = document.getElementById("epsilon");
const within = document.getElementById("within");
const chosen = (name) => { form.querySelector(`[name=by][value=${name}]`).checked = true; };
const fieldOf = (name) => form.elements[name].closest(".field");

function follow() {
  const value = Number(epsilon.value);
  if (value > 0) slider.value = Math.log10(value);
  slider.setAttribute("aria-valuetext", `epsilon ${epsilon.value}`);
  for (const name of ["epsilon", "within"]) fieldOf(name).classList.toggle("follows", form.elements.by.value !== name);
}
slider.addEventListener("input", () => {
  epsilon.value = Number((10 ** Number(slider.value)).toPrecision(2));
  chosen("epsilon");
  follow();
});
epsilon.addEventListener("input", () => { chosen("epsilon"); follow(); });
within.addEventListener("input", () => { chosen("within"); follow(); });
form.querySelectorAll("[name=by]").forEach((each) => each.addEventListener("change", follow));
follow();

// -- asking, and taking it back ----------------------------------------------------------------

const cancel = document.getElementById("cancel");
form.addEventListener("submit", (event) => {
  if (!text.value.trim() && event.submitter?.name === "act") {
    event.preventDefault();
    return empty();
  }
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

openWords(editor.insert);
document.querySelectorAll(".snippets button").forEach((each) => each.addEventListener("click", (event) => {
  event.preventDefault();
  taken(each.value);
}));
openBuilder(form, (sql) => taken(`sql ${sql}`));
fetch("/ask.json").then((answer) => answer.json()).then(editor.learn).catch(() => {});
document.getElementById("rehearsal")?.scrollIntoView();
if (isOther || !trouble.children.length) price();

// The live results: asked for every two seconds, drawn as bars with what the noise leaves open.

import { Offline, ask, at, made, percent, say, surveyHere } from "./page.js";
import { periodCharts } from "./period-chart.js";

const EVERY_MS = 2000;
const BARS =
  "The line across each bar is the 95% confidence interval for the people who answered. " +
  "Estimates are unbiased, so a small one can be below 0%.";
const RANGE = "The range is the 95% confidence interval for the people who answered.";
const WORDS = "Answers to this survey are free words: discreet survey estimate --words counts the words that you name.";
const id = surveyHere();
let survey;

async function begin() {
  try {
    const found = await ask(`/surveys/${id}.json`);
    if (!found.ok) return nothing(found.body.error ?? "There is no such survey.");
    survey = found.body;
    at("question").textContent = document.title = survey.question;
    await poll();
  } catch (error) {
    if (!(error instanceof Offline)) throw error;
    say("The survey cannot be reached; this page keeps trying.");
    setTimeout(begin, EVERY_MS);
  }
}

function nothing(sentence) {
  at("question").textContent = "No results here";
  say(sentence);
}

/** Ask, draw, and ask again; a page that nobody looks at waits. */
async function poll() {
  let closed = false;
  try {
    if (!document.hidden) closed = show(await ask(`/surveys/${id}/results.json`));
  } catch (error) {
    if (!(error instanceof Offline)) throw error;
    say("The survey cannot be reached; these are the latest results.");
  }
  if (!closed) setTimeout(poll, EVERY_MS);
}

/** Draw one answer; true where it is the last. */
function show({ ok, body }) {
  const waiting = Boolean(body.waiting);
  if (!ok && !waiting) return say(body.error ?? "There are no results at the moment.");
  if (!at("status").hidden) say();
  at("state").textContent = body.closed ? "Final results" : "Live results";
  at("waiting").hidden = !waiting;
  at("found").hidden = at("facts").hidden = waiting;
  if (waiting) showWaiting(body);
  else showFound(body);
  return Boolean(body.closed);
}

function showWaiting({ n, minimum, closed, by, every }) {
  at("progress").hidden = by === "period";
  if (by === "period") {
    at("still").textContent = `${every === "hour" ? "An" : "A"} ${every} is shown once it takes no more answers and has at least ${minimum} of them.`;
    return;
  }
  const then = closed ? "the survey closed with too few answers." : "results appear when there are enough.";
  at("still").textContent = `${count(n, "answer")} of ${minimum}: ${then}`;
  Object.assign(at("progress"), { max: minimum, value: n });
}

function showFound(body) {
  at("periods").hidden = body.by !== "period";
  if (body.by === "period") return showPeriods(body);
  const estimates = Array.isArray(body.estimates) ? body.estimates : [];
  const mean = body.estimates?.mean ?? body.mean;
  at("bars").hidden = !estimates.length;
  at("mean").hidden = mean === undefined;
  if (estimates.length) bars(estimates);
  if (mean !== undefined) showMean(mean, body.estimates?.interval ?? body.interval);
  at("legend").textContent = estimates.length ? BARS : mean === undefined ? WORDS : RANGE;
  facts(body, mean !== undefined);
}

/** Each period that takes no more answers, as charts and as a table, and the trend. */
function showPeriods(body) {
  at("bars").hidden = at("mean").hidden = true;
  const table = made("table");
  const row = (kind, cells) => {
    const line = made("tr");
    line.append(...cells.map((cell) => made(kind, cell)));
    return line;
  };
  table.append(row("th", [body.every, "answers", "", "estimate", "interval"]));
  for (const period of body.periods) {
    const head = [period.begin, period.n.toLocaleString("en")];
    if (period.waiting) table.append(row("td", [...head, "", "too few answers", ""]));
    else if (period.mean !== undefined) {
      table.append(row("td", [...head, "mean", number(period.mean), period.interval.map(number).join(" to ")]));
    } else {
      period.estimates.forEach(({ choice, share, interval }, place) => {
        const range = interval ? interval.map(percent).join(" to ") : "";
        table.append(row("td", [...(place ? ["", ""] : head), choice, percent(share), range]));
      });
    }
  }
  at("periods").replaceChildren(...periodCharts(body), ...trendLines(body), table);
  at("legend").textContent =
    `All intervals of one answer in the table and the charts hold together with 95% confidence. ${body.every === "hour" ? "An" : "A"} ${body.every} is shown once it takes no more answers.`;
  facts({ n: body.n, epsilon: body.epsilon }, false);
}

/** The slope of each answer, with its interval for the answers that were given. */
function trendLines({ trends = [], every }) {
  if (!trends.length) return [];
  const size = (value, isShare) => `${value < 0 ? "-" : "+"}${number(Math.abs(isShare ? value * 100 : value))}`;
  const list = made("ul", "", "trends");
  for (const { choice, slope, interval } of trends) {
    const isShare = choice !== undefined;
    const range = interval.map((end) => size(end, isShare)).join(" to ");
    const unit = isShare ? " points" : "";
    list.append(made("li", `${isShare ? choice : "mean"}: ${size(slope, isShare)}${unit} each ${every} (${range})`));
  }
  const words = `The trend is the slope of the least-squares line through the estimates; the range is its 95% confidence interval for the answers that were given.`;
  return [made("h3", "Trend"), list, made("p", words, "quiet")];
}

function facts({ n, plus_minus: wide, halve, fakes, epsilon }, isMean) {
  const size = (share) => (isMean ? number(share) : `${number(share * 100)} points`);
  at("n").textContent = n.toLocaleString("en");
  fact("plus-minus", wide, () => `± ${size(wide)}`);
  fact("halve", halve, () => `about ${count(halve, "more answer")}`);
  fact("fakes", fakes, () => `could change it by ${size(fakes.could_move)}`);
  if (fakes) at("fakes-label").textContent = count(fakes.reports, "fake answer");
  fact("epsilon", epsilon, () => `epsilon ${number(decimal(epsilon))}`);
}

/** A fact that the server did not state is not shown. */
function fact(place, value, text) {
  const known = value !== undefined && value !== null;
  at(place).parentElement.hidden = !known;
  if (known) at(place).textContent = text();
}

// ---------------------------------------------------------------- bars

/** Bars are kept from one answer to the next, so that they glide. */
function bars(estimates) {
  const list = at("bars");
  while (list.children.length > estimates.length) list.lastChild.remove();
  while (list.children.length < estimates.length) list.append(emptyBar());
  estimates.forEach((estimate, place) => draw(list.children[place], estimate));
}

function emptyBar() {
  const item = made("li");
  const head = made("div", "", "head");
  head.append(made("span", "", "name"), made("span", "", "share"));
  const bar = made("div", "", "bar");
  bar.append(made("i"), made("b"));
  bar.setAttribute("aria-hidden", "true"); // the words above it say the same
  item.append(head, bar);
  return item;
}

function draw(item, { choice, share, interval }) {
  item.querySelector(".name").textContent = choice;
  const range = interval ? ` ${percent(interval[0])} to ${percent(interval[1])}` : "";
  item.querySelector(".share").replaceChildren(made("span", percent(share)), made("small", range));
  stretch(item.querySelector("i"), 0, share);
  item.querySelector("b").hidden = !interval;
  if (interval) stretch(item.querySelector("b"), ...interval);
}

function stretch(node, from, to) {
  const inside = (share) => Math.min(1, Math.max(0, share));
  node.style.setProperty("--from", inside(from));
  node.style.setProperty("--to", inside(to));
}

/** To as many places as the interval leaves any meaning. */
function showMean(mean, [low, high]) {
  const places = Math.min(20, Math.max(0, 1 - Math.floor(Math.log10(Math.max(high - low, 1e-9) / 2))));
  const said = (value) => value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  at("mean").textContent = `${said(mean)} on average (${said(low)} to ${said(high)})`;
}

// ---------------------------------------------------------------- numbers

function number(value) {
  return Number(Number(value).toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
}

/** "3/2" or 1.5. */
function decimal(value) {
  const [over, under = 1] = String(value).split("/").map(Number);
  return over / under;
}

function count(many, thing) {
  return `${many.toLocaleString("en")} ${thing}${many === 1 ? "" : "s"}`;
}

begin();

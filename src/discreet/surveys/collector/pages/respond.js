// The respondent's page. The true answer never leaves it: `device.answer` noises it here, and only what
// the person has seen is sent.

import { Device, Periods, Refused, randomizer, shown, toBase64, toHex } from "./discreet-local.js";
import { Offline, ask, at, made, percent, say, surveyHere } from "./page.js";

/** More choices than this are a list that opens. */
const LISTED = 12;
/** More of them than this are counted, not named. */
const NAMED = 24;
/** Protocols whose report on two choices is how one coin fell, or two. */
const COINED = new Set(["response", "two-coins", "unary", "symmetric-unary", "basic-rappor"]);
/** Of those, the ones whose report is one of the choices. */
const SAYING = new Set(["response", "two-coins"]);
const REPEATED = "This answer arrived before; it counts once.";
const PENDING =
  "Nobody confirmed that an earlier answer arrived. It is sent first, as you gave it then; after that you can answer again.";
/** From this epsilon on a report is hard to deny. */
const WEAK = 3;

const id = surveyHere();
let survey, coins, device, donation, periods;

async function begin() {
  try {
    const found = await ask(`/surveys/${id}.json`);
    if (!found.ok) return stop(found.body.error ?? "There is no such survey.");
    survey = found.body;
    if (survey.version !== 1 || survey.survey !== id) return stop("This page cannot read the survey.");
    at("question").textContent = document.title = survey.question;
    at("asker").textContent = survey.asker ? `${survey.asker} asks.` : "";
    at("asker").hidden = !survey.asker;
    coins = randomizer(survey.randomizer);
    device = new Device();
    if (survey.closed && survey.periods) return stop("This survey is closed.");
    if (survey.periods && !beginPeriod()) return;
    const before = survey.periods ? null : device.hasSent(id);
    if (before) return thank(before, "You have already answered; your answer counts once.");
    if (survey.closed) return stop("This survey is closed.");
    pose();
  } catch (error) {
    fail(error);
  }
}

/** Say what the survey costs over all its periods, before anything is answered; false where no donation is left. */
function beginPeriod() {
  periods = new Periods(survey.periods);
  at("terms").textContent = termsOf(periods, periods.loss(coins));
  at("terms").hidden = false;
  const { number, left } = device.donated(survey);
  if (left) return true;
  const next = number < periods.periods ? ` The next ${periods.every} begins on ${periods.begin(number + 1)} (UTC).` : "";
  stop(`You have answered as often as this ${periods.every} allows.${next}`);
  return false;
}

/** What a respondent must know first: how often, with which coins, at what cost in all. */
function termsOf({ every, donations, periods: many, coins: kind }, loss) {
  const all = `${many.toLocaleString("en")} ${every}${many === 1 ? "" : "s"}`;
  const one = `${every === "hour" ? "an" : "a"} ${every}`;
  const often = donations === 1 ? "once" : `at most ${donations.toLocaleString("en")} times`;
  const asked = `This is asked every ${every}, for ${all}. This browser answers ${often} ${one}.`;
  const each = `One answer costs epsilon ${shown(loss.donation)}, ${one} at most ${shown(loss.period)}.`;
  const total =
    kind === "fresh"
      ? `Each answer flips new coins, so losses add up: to at most ${shown(loss.survey)} over ${all}.`
      : `Over ${all} you lose ${shown(loss.unchanged)} while your answer stays the same: its coins are flipped once and ` +
        `kept. If it changes you lose at most ${shown(loss.survey)}. That it changed can be seen, and often that ` +
        "reports are from one browser.";
  const weak = loss.survey > WEAK ? " All of it together gives little protection." : "";
  return `${asked} ${each} ${total}${weak}`;
}

/** The bytes of a report behind the number of its period. */
function inner(report) {
  return survey.periods ? report.subarray(2) : report;
}

/** Nothing more can be done here. */
function stop(sentence) {
  if (at("question").textContent.startsWith("One moment")) at("question").textContent = "No question here";
  say(sentence);
}

function fail(error) {
  if (error instanceof Refused) return stop(error.message);
  if (error instanceof Offline) return stop("The survey cannot be reached; please reload this page later.");
  stop("This page could not be shown. Nothing was sent.");
  throw error;
}

function only(visible) {
  for (const section of ["ask", "review", "thanks"]) at(section).hidden = section !== visible;
}

// ---------------------------------------------------------------- the question

function pose() {
  at("answers").replaceChildren(coins.choices ? (coins.choices.length > LISTED ? list() : radios()) : field());
  at("flip").textContent = pair() ? "Flip the coin" : "Flip the coins";
  at("invitation").hidden = !survey.token || Boolean(tokenHere());
  only("ask");
}

/** One coin is enough to choose between two. */
function pair() {
  return coins.protocol === "response" && coins.choices.length === 2;
}

function radios() {
  const group = made("fieldset");
  group.append(made("legend", "Your true answer"));
  coins.choices.forEach((choice) => {
    const label = made("label", "", "choice");
    const radio = Object.assign(document.createElement("input"), { type: "radio", name: "answer", value: choice });
    label.append(radio, made("span", choice));
    group.append(label);
  });
  return group;
}

function list() {
  const select = made("select");
  select.append(new Option("Choose…", ""), ...coins.choices.map((choice) => new Option(choice, choice)));
  return labelled(select);
}

/** A number between bounds, or a word. */
function field() {
  const input = made("input");
  input.autocomplete = "off";
  if (coins.low !== undefined) {
    Object.assign(input, { type: "number", min: coins.low, max: coins.high, step: coins.step, inputMode: "decimal" });
    return labelled(input, `Your true answer, ${coins.low} to ${coins.high}`);
  }
  input.maxLength = 200;
  return labelled(input, "Your true answer, in a word");
}

function labelled(input, text = "Your true answer") {
  const box = made("div", "", "field");
  const label = made("label", text);
  label.htmlFor = input.id = input.name = "answer";
  box.append(label, input);
  return box;
}

/** What was chosen, or null. */
function chosen() {
  return new FormData(at("ask")).get("answer") || null;
}

/** An invitation travels behind the # of the address, which browsers do not send. */
function tokenHere() {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
}

// ---------------------------------------------------------------- what will be sent

async function review(event) {
  event.preventDefault();
  const value = chosen();
  if (value === null) return say("Please choose an answer first.");
  if (survey.token && !token()) return say("This survey needs your invitation code.");
  say();
  try {
    donation = await device.alone(() =>
      survey.periods ? device.donate(survey, value) : device.answer(survey, value),
    );
  } catch (error) {
    if (error instanceof Refused) return say(error.message);
    throw error;
  }
  if (donation.pending) at("coins").hidden = at("fell").hidden = true;
  else showCoins(value, inner(donation.report));
  at("report").replaceChildren(...told(inner(donation.report)));
  at("deniable").textContent = donation.pending ? PENDING : deniable(value, inner(donation.report));
  at("deniable-title").textContent = donation.epsilon <= WEAK ? "Why you can deny it" : "This is hard to deny";
  at("epsilon").textContent = inWords(donation.epsilon);
  at("bytes").textContent = toHex(donation.report);
  at("id").textContent = donation.id;
  at("code").textContent = survey.token ? token() : "";
  at("code-row").hidden = !survey.token;
  at("lifetime").textContent =
    `This answer costs epsilon ${shown(donation.epsilon)}. All different answers that this browser has randomized ` +
    `for this site cost ${shown(donation.lifetime)} together.`;
  at("send").textContent = "Send this";
  at("send").disabled = false;
  only("review");
  at("review-title").focus();
}

function token() {
  return tokenHere() || at("token").value.trim();
}

/** For two choices, the coins themselves. */
function showCoins(value, report) {
  const two = coins.choices?.length === 2 && COINED.has(coins.protocol);
  at("coins").hidden = at("fell").hidden = !two;
  if (!two) return;
  if (SAYING.has(coins.protocol)) {
    const [said] = coins.supported(report);
    const kept = said === value;
    const [who, often] = pair() ? ["The coin", "It keeps"] : ["The two coins", "They keep"];
    at("coins").replaceChildren(coinOf(said, kept ? "your answer" : "the other answer", kept));
    const odds = percent(coins.kept);
    at("fell").textContent = kept
      ? `${who} kept your answer. ${often} an answer ${odds} of the time.`
      : `${who} changed your answer to the other one. ${often} an answer ${odds} of the time.`;
    return;
  }
  const supported = coins.supported(report);
  at("coins").replaceChildren(
    ...coins.choices.map((choice) => {
      const heads = supported.includes(choice);
      return coinOf(heads ? "heads" : "tails", choice, heads);
    }),
  );
  at("fell").textContent = "One coin for each choice: heads reports it, tails does not.";
}

function coinOf(face, caption, heads) {
  const figure = made("figure");
  const coin = made("div", face, heads ? "coin" : "coin no");
  figure.append(coin, made("figcaption", caption));
  return figure;
}

/** A report as people read it. */
function told(report) {
  if (!coins.choices) return [made("p", coins.meaning(report))];
  const supported = coins.supported(report);
  if (SAYING.has(coins.protocol)) return [made("p", `“${supported[0]}”`)];
  if (!supported.length) return [made("p", "None of the choices.")];
  const [some, all] = [supported.length, coins.choices.length].map((many) => many.toLocaleString("en"));
  if (supported.length > NAMED) return [made("p", `It reports ${some} of the ${all} choices.`)];
  const text = `Of the ${all} choices, it reports ${supported.length === 1 ? "this one" : `these ${some}`}:`;
  const chips = made("ul", "", "chips");
  chips.append(...supported.map((choice) => made("li", choice)));
  return [made("p", text), chips];
}

/** How often others send the same. */
function deniable(value, report) {
  if (!coins.choices) return "A person with any other answer could have sent exactly this.";
  const other = leastLikely(value, report);
  const apart = coins.logChance(value, report) - coins.logChance(other, report);
  const [own, theirs] = [coins.chance(value, report), coins.chance(other, report)];
  return `${compared(value, other, own, theirs, apart)} ${verdict(apart)}`;
}

/** In shares of the time where those are not tiny, else against each other. */
function compared(value, other, own, theirs, apart) {
  if (Math.min(own, theirs) >= 0.001) {
    return (
      `Someone whose true answer is “${other}” sends this same report ${percent(theirs)} of the time; ` +
      `someone whose true answer is “${value}”, ${percent(own)} of the time.`
    );
  }
  if (Math.abs(apart) < 0.001) return `Someone whose true answer is “${other}” sends exactly this report as often.`;
  const [more, less] = apart > 0 ? [value, other] : [other, value];
  return (
    `Someone whose true answer is “${less}” can also send exactly this; someone whose true answer is “${more}” ` +
    `does so ${Number(Math.exp(Math.abs(apart)).toPrecision(2)).toLocaleString("en")} times as often.`
  );
}

/** What that comes to. Where it comes to much, it says so. */
function verdict(apart) {
  if (Math.abs(apart) < 0.001) return "So it says nothing about which of the two is yours.";
  return Math.abs(apart) <= WEAK ? "So it is a hint, but no proof." : "So it is strong evidence, but no proof.";
}

/** Of the other choices, one that sends this report least often. It matters only whether the report speaks for it. */
function leastLikely(value, report) {
  const speaksFor = coins.supporter(report);
  const others = coins.choices.map((choice, code) => ({ choice, code })).filter(({ choice }) => choice !== value);
  return (others.find(({ code }) => !speaksFor(code)) ?? others[0]).choice;
}

/** Epsilon as a bound on what anybody learns; rounded up, as bounds are. */
function inWords(epsilon) {
  const strong = epsilon <= 0.5 ? "strong" : epsilon <= 1.5 ? "good" : epsilon <= WEAK ? "moderate" : "weak";
  return (
    "Anyone who sees it, whatever else they know, can change their odds about you by a factor of at most " +
    `${up(Math.exp(epsilon), 2)}: from even odds to ${up(100 / (1 + Math.exp(-epsilon)), 1)}% sure. ` +
    `Your browser computed this from its coins (epsilon ${shown(epsilon)}: ${strong} protection).`
  );
}

/** Rounded up to so many places. */
function up(number, places) {
  return (Math.ceil(number * 10 ** places - 1e-6) / 10 ** places).toLocaleString("en");
}

// ---------------------------------------------------------------- sending

async function send() {
  at("send").disabled = true;
  say();
  const body = { version: 1, survey: id, id: donation.id, report: toBase64(donation.report) };
  if (survey.token) body.token = token();
  try {
    if (survey.periods) await device.alone(() => device.leaving(donation));
    const answer = await ask(`/collect/${id}`, body);
    if (answer.ok || answer.body.repeated) {
      if (survey.periods) device.arrived(donation);
      else device.sent(id, donation.report);
      const repeated = answer.body.repeated && !answer.body.accepted;
      return thank(donation.report, repeated ? REPEATED : "Your answer has arrived.");
    }
    // What cannot succeed later is not offered again.
    const final = answer.status < 500 && answer.status !== 429;
    say(answer.body.error ?? "The survey did not accept the answer.");
    again(final);
  } catch (error) {
    if (error instanceof Refused) return say(error.message);
    if (!(error instanceof Offline)) throw error;
    say("You seem to be offline. Try again: the same bytes will be sent.");
    again(false);
  }
}

function again(final) {
  at("send").textContent = final ? "Not sent" : "Send again";
  at("send").disabled = final;
}

function thank(report, sentence) {
  say();
  at("arrived").textContent = sentence;
  at("sent").replaceChildren(...told(inner(report)));
  at("sent-bytes").textContent = toHex(report);
  at("results").href = `/s/${id}/results`;
  only("thanks");
  at("thanks-title").focus();
}

at("ask").addEventListener("submit", review);
at("send").addEventListener("click", send);
at("back").addEventListener("click", () => {
  say();
  only("ask");
});
begin();

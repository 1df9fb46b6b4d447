import { begin, button, draw, label, line, part, percent, say, scale, slider, told } from "./learn.js";

const people = told.people;
const truly = slider("truly", (value) => `${value}`);
let seats = [];
let estimates = [];

const coin = () => Math.random() < 0.5;

/** What a person says: the truth on tails, the second coin on heads. */
const answer = (truth) => (coin() ? coin() : truth);

function flip() {
  seats = Array.from({ length: people }, (_, place) => answer(place < truly.value));
  const said = seats.filter(Boolean).length / people;
  estimates.push(2 * said - 0.5);
  return said;
}

function show() {
  const parts = seats.map((yes, place) => {
    const at = { cx: 14 + (place % 15) * 26, cy: 14 + Math.floor(place / 15) * 26, r: 9 };
    return part("circle", { ...at, class: yes ? "chart-bar" : "chart-none" });
  });
  const x = scale(-0.5, 1.5, 10, 390);
  parts.push(line(10, 160, 390, 160, "chart-zero-line"));
  for (const share of [0, 0.5, 1]) parts.push(label(x(share), 178, percent(share), "middle"));
  const heights = new Map();
  for (const each of estimates) {
    const above = heights.get(each) ?? 0;
    heights.set(each, above + 1);
    parts.push(part("circle", { cx: x(each), cy: 155 - Math.min(above, 16) * 4.5, r: 2.5, class: "chart-dot chart-kind-0" }));
  }
  const truth = x(truly.value / people);
  parts.push(line(truth, 72, truth, 160, "chart-mark"), label(truth, 68, "the truth", "middle"));
  draw(parts);
}

function once() {
  const said = flip();
  const estimate = 2 * said - 0.5;
  const half = 1.96 * 2 * Math.sqrt((said * (1 - said)) / people);
  show();
  const beyond = estimate < 0 || estimate > 1 ? " A share cannot be outside 0% to 100%; an estimate can, and is right on average." : "";
  say(`${Math.round(said * people)} of ${people} said yes. The estimated share is ${percent(estimate)}, plus or minus about ` +
    `${percent(half)}; the true share is ${percent(truly.value / people)}. Nobody knows which of them told the truth.${beyond}`);
}

function many() {
  for (let turn = 0; turn < 100; turn += 1) flip();
  show();
  const mean = estimates.reduce((sum, each) => sum + each, 0) / estimates.length;
  say(`${estimates.length} classes: their estimates are between ${percent(Math.min(...estimates))} and ` +
    `${percent(Math.max(...estimates))}, and their mean is ${percent(mean)}. The true share is ${percent(truly.value / people)}.`);
}

function anew() {
  estimates = [];
  once();
}

truly.on(anew);
button("flip", once);
button("many", many);
begin(anew);

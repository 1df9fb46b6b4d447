import { area, begin, button, draw, label, line, part, percent, plain, say, scale, slider, told } from "./learn.js";

const epsilon = slider("epsilon", (value) => plain(value));
const phones = slider("phones", (value) => plain(Math.round(10 ** value), 2));
const share = slider("share", (value) => `${value}%`);
const days = slider("days", (value) => `${value}`);
let [place, sent, estimate] = [5, [], 0];

const lie = () => 1 / (1 + Math.exp(epsilon.value / 2));
const flip = (bit, chance) => (Math.random() < chance ? !bit : bit);

/** How likely most of so many reports of a bit are right. */
function majority(times, honest) {
  let [right, term] = [0, (1 - honest) ** times];
  for (let count = 0; count <= times; count += 1) {
    if (2 * count > times) right += term;
    else if (2 * count === times) right += term / 2;
    term *= ((times - count) / (count + 1)) * (honest / (1 - honest));
  }
  return right;
}

function show() {
  const x = scale(0, told.bits, 70, 394);
  const row = (bits, y, name) => [label(62, y + 15, name, "end"), ...bits.map((bit, at) =>
    part("rect", { x: x(at), y, width: 16, height: 20, class: bit ? "chart-bar" : "chart-none" }))];
  const word = sent.map((_, at) => at === place);
  const y = scale(0, 1, 70, 380);
  const truth = y(share.value / 100);
  const half = (1.96 * Math.sqrt(0.25 / Math.round(10 ** phones.value))) / (1 - 2 * lie());
  const within = (value) => y(Math.min(1, Math.max(0, value)));
  draw([...row(word, 4, "your word"), ...row(sent, 32, "is sent"),
    line(70, 110, 380, 110, "chart-zero-line"), ...[0, 0.5, 1].map((at) => label(y(at), 128, percent(at), "middle")),
    line(within(estimate - half), 95, within(estimate + half), 95, "chart-whisker"),
    part("circle", { cx: within(estimate), cy: 95, r: 5, class: "chart-dot chart-kind-0" }),
    label(62, 99, "estimate", "end"), line(truth, 80, truth, 110, "chart-mark"), label(truth, 76, "the truth", "middle")]);
}

function phone() {
  sent = Array.from({ length: told.bits }, (_, at) => flip(at === place, lie()));
  const wrong = sent.filter((bit, at) => bit !== (at === place)).length;
  area.querySelector("[data-phone]").textContent =
    `Each bit is flipped with probability ${percent(lie())}; here ${wrong} of ${told.bits} were flipped. The bit of your word is ` +
    `${sent[place] ? "still 1" : "now 0"}, and ${sent.filter(Boolean).length} of the bits that are sent are 1.`;
  show();
}

function all() {
  const many = Math.round(10 ** phones.value);
  const chance = lie();
  let ones = 0;
  for (let turn = 0; turn < many; turn += 1) {
    const here = turn < (many * share.value) / 100 || Math.random() < 1 / told.bits;  // another word may share the place
    if (flip(here, chance)) ones += 1;
  }
  estimate = ((ones / many - chance) / (1 - 2 * chance) - 1 / told.bits) / (1 - 1 / told.bits);
  show();
  const guess = majority(days.value, 1 - chance);
  say(`In ${ones.toLocaleString("en")} of ${many.toLocaleString("en")} reports, the bit of your word is 1. Corrected for flips, and for other words ` +
    `with the same bit, the estimated share is ${percent(estimate)}; the true share is ${share.value}%. An attacker who sees your bit on ` +
    `${days.value} days guesses it right ${percent(guess)} of the time if the noise is new each day, and ${percent(1 - chance)} of the time ` +
    `if the phone keeps its noise. With new noise, your total loss is epsilon ${plain(days.value * epsilon.value)}.`);
}

function anew() {
  phone();
  all();
}

epsilon.on(anew);
for (const each of [phones, share, days]) each.on(all);
button("phone", () => { place = Math.floor(Math.random() * told.bits); phone(); });
button("all", all);
begin(anew);

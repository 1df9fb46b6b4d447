import { begin, button, choice, draw, label, line, part, percent, plain, say, slider, told, wholeLaplace } from "./learn.js";

const asked = choice("asked");
const friends = slider("friends", (value) => `${value}`);
const unit = choice("unit");
const limit = slider("limit", (value) => `${value}`);
const epsilon = slider("epsilon", (value) => plain(Math.exp(value), 2));
const others = Array.from({ length: told.people - 1 }, (_, place) => place);
const links = others.flatMap((one) => [[one, (one + 1) % others.length], [one, (one + 3) % others.length]])
  .filter(() => Math.random() < 0.6);
let [right, times, last] = [0, 0, ""];

const person = () => unit.value === 1;
/** How far the fact moves the number of links, and the scale of its noise. */
const moved = () => (asked.value === 0 ? 1 : person() ? Math.min(friends.value, limit.value) : friends.value);
const size = () => (person() ? limit.value : 1) / Math.exp(epsilon.value);

function show(truth) {
  const at = (place) => {
    const turn = (2 * Math.PI * place) / others.length;
    return [110 + 88 * Math.sin(turn), 104 - 88 * Math.cos(turn)];
  };
  const parts = links.map(([one, other]) => line(...at(one), ...at(other), "chart-rule"));
  const mine = asked.value === 0 ? (truth ? [0] : []) : truth ? others.slice(0, friends.value) : [];
  for (const [count, place] of mine.entries()) {
    const counts = asked.value === 0 || !person() || count < limit.value;
    parts.push(line(110, 104, ...at(place), counts ? "chart-line chart-kind-0" : "chart-mark"));
  }
  for (const place of others) {
    const [cx, cy] = at(place);
    parts.push(part("circle", { cx, cy, r: 6, class: "chart-dot chart-kind-0" }));
  }
  if (asked.value === 0 || truth) parts.push(part("circle", { cx: 110, cy: 104, r: 9, class: "chart-bar" }), label(96, 108, "Alice", "end"));
  if (asked.value === 0) parts.push(label(128, 16, "Bob"));
  const strength = Math.exp(epsilon.value) * (person() ? 1 : moved());
  const bound = 1 / (1 + Math.exp(-strength));
  const bar = (y, share, name, kind) => [label(232, y - 4, `${name}: ${percent(share)}`),
    part("rect", { x: 232, y, width: 160 * share, height: 14, class: kind })];
  if (times) parts.push(...bar(50, right / times, `right, ${times} times`, "chart-bar"));
  parts.push(...bar(100, bound, "upper bound", "chart-bin"), ...bar(150, 0.5, "blind guessing", "chart-bin"));
  draw(parts);
  const hides = person() || asked.value === 0;
  say(`${last}If the answer is yes, the number of links is larger by ${moved()}; the noise has scale ${plain(size())}. ` +
    (hides ? `No attacker can be right more than ${percent(bound)} of the time.`
      : `Only single links are protected: ${friends.value} links together have epsilon ${plain(strength)}, ` +
        `so an attacker can be right up to ${percent(bound)} of the time.`));
}

function publish(turns) {
  let truth = false;
  for (let turn = 0; turn < turns; turn += 1) {
    truth = Math.random() < 0.5;
    const published = links.length + (truth ? moved() : 0) + wholeLaplace(size());
    const guess = published - links.length > moved() / 2 || (published - links.length === moved() / 2 && Math.random() < 0.5);
    if (guess === truth) right += 1;
    times += 1;
    last = `Published: ${published} links. Without noise, it would be ${links.length} or ${links.length + moved()}. The attacker says ` +
      `${guess ? "yes" : "no"}, and is ${guess === truth ? "right" : "wrong"}. `;
  }
  show(truth);
}

function anew() {
  [right, times, last] = [0, 0, ""];
  show(true);
}

for (const each of [asked, friends, unit, limit, epsilon]) each.on(anew);
button("publish", () => publish(1));
button("often", () => publish(500));
begin(anew);

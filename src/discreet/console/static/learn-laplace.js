import { begin, button, curve, draw, label, laplace, line, percent, plain, say, scale, slider, told } from "./learn.js";

const count = told.count;
const epsilon = slider("epsilon", (value) => plain(Math.exp(value), 2));
const prior = slider("prior", (value) => `${value}%`);
let answer = null;

const density = (x, centre, size) => Math.exp(-Math.abs(x - centre) / size) / (2 * size);

function show() {
  const strength = Number(Math.exp(epsilon.value).toPrecision(2));
  const size = 1 / strength;
  const x = scale(count - 14, count + 15, 6, 394);
  const y = scale(0, 1.05 / (2 * size), 172, 24);
  const places = Array.from({ length: 291 }, (_, step) => count - 14 + step / 10);
  const parts = [line(0, 172, 400, 172, "chart-zero-line")];
  for (let at = count - 10; at <= count + 10; at += 5) parts.push(label(x(at), 188, `${at}`, "middle"));
  for (const [kind, centre] of [[0, count], [1, count + 1]]) {
    parts.push(curve(places.map((at) => [x(at), y(density(at, centre, size))]), `chart-line chart-kind-${kind}`));
  }
  parts.push(line(0, 10, 14, 10, "chart-line chart-kind-0"), label(20, 14, `without you: ${count}`));
  parts.push(line(200, 10, 214, 10, "chart-line chart-kind-1"), label(220, 14, `with you: ${count + 1}`));
  if (answer !== null) {
    const at = Math.min(Math.max(x(answer), 0), 400);
    parts.push(line(at, 24, at, 172, "chart-mark"));
  }
  draw(parts);
  const before = prior.value / 100;
  const most = Math.exp(strength);
  const belief = (odds) => (before * odds) / (before * odds + 1 - before);
  let words = `At epsilon ${plain(strength, 2)}, an answer is at most ${plain(most)} times as likely with you as without you. ` +
    `Somebody whose guess was ${percent(before)} before the answer guesses at least ${percent(belief(1 / most))} and at most ` +
    `${percent(belief(most))} after it. 95% of answers are within ${plain(Math.log(20) * size, 2)} of the true count.`;
  if (answer !== null) {
    const odds = density(answer, count + 1, size) / density(answer, count, size);
    words = `The answer was ${answer.toFixed(1)}. It is ${plain(odds)} times as likely with you: they now think ` +
      `${percent(belief(odds))}. ${words}`;
  }
  say(words);
}

function change() {
  answer = null;
  show();
}

epsilon.on(change);
prior.on(show);
button("draw", () => {
  const inside = Math.random() < prior.value / 100;
  answer = count + (inside ? 1 : 0) + laplace(1 / Math.exp(epsilon.value));
  show();
});
begin(show);

import { area, begin, button, curve, draw, label, line, plain, say, scale, slider, told, wholeLaplace } from "./learn.js";

const each = slider("each", (value) => plain(value));
const questions = slider("questions", (value) => `${value}`);

/** The epsilon of rho at delta, minimised over the order, as Discreet's accounting does it. */
function converted(rho, delta) {
  const at = (log) => {
    const below = Math.exp(log);
    return (1 + below) * rho + (-Math.log(delta) - (1 + below) * Math.log1p(1 / below) - log) / below;
  };
  let [low, high] = [-20, 40];
  for (let turn = 0; turn < 80; turn += 1) {
    const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
    if (at(left) < at(right)) high = right;
    else low = left;
  }
  return Math.max(0, at((low + high) / 2));
}

function show() {
  const [cost, most] = [each.value, questions.value];
  const byRho = (number) => (number ? converted((number * cost * cost) / 2, told.delta) : 0);
  const [plainly, other] = [most * cost, byRho(most)];
  const x = scale(0, most, 40, 394);
  const y = scale(0, Math.max(plainly, other), 160, 26);
  const places = Array.from({ length: 61 }, (_, step) => (most * step) / 60);
  const parts = [line(40, 160, 400, 160, "chart-zero-line")];
  for (const share of [0.5, 1]) {
    const top = Math.max(plainly, other) * share;
    parts.push(line(40, y(top), 400, y(top), "chart-rule"), label(34, y(top) + 4, plain(top, 2), "end"));
  }
  parts.push(label(40, 178, "0", "middle"), label(394, 178, `${most} queries`, "end"));
  parts.push(curve(places.map((at) => [x(at), y(at * cost)]), "chart-line chart-kind-0"));
  parts.push(curve(places.map((at) => [x(at), y(byRho(at))]), "chart-line chart-kind-1"));
  parts.push(line(0, 10, 14, 10, "chart-line chart-kind-0"), label(20, 14, "plain addition"));
  parts.push(line(180, 10, 194, 10, "chart-line chart-kind-1"), label(200, 14, `by rho, delta ${told.delta.toExponential()}`));
  draw(parts);
  const less = plainly <= other ? "Plain addition is smaller." : "Counting by rho is smaller.";
  say(`${most} queries of epsilon ${plain(cost)}: ${plain(plainly)} by plain addition; rho ` +
    `${plain((most * cost * cost) / 2)}, which is epsilon ${plain(other)} at delta ${told.delta.toExponential()}. ${less}`);
}

let draws = [];

function ask(times) {
  for (let turn = 0; turn < times; turn += 1) draws.push(told.count + wholeLaplace(1 / each.value));
  const mean = draws.reduce((sum, one) => sum + one, 0) / draws.length;
  area.querySelector("[data-mean]").textContent = draws.length
    ? `Asked ${draws.length} times, last answer ${draws.at(-1)}. The mean is ${mean.toFixed(1)}; the truth is ${told.count}. ` +
      `Paid so far: epsilon ${plain(draws.length * each.value)}. A ledger would have refused long before.`
    : `A generated count; the truth is ${told.count}.`;
}

const anew = () => {
  draws = [];
  ask(0);
};

each.on(() => { show(); anew(); });
questions.on(show);
button("once", () => ask(1));
button("often", () => ask(50));
button("anew", anew);
begin(() => { show(); anew(); });

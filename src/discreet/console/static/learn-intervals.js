import { begin, button, draw, label, line, part, percent, plain, say, scale, slider, told, wholeLaplace } from "./learn.js";

const confidence = slider("confidence", (value) => `${value}%`);
const epsilon = slider("epsilon", (value) => plain(value));
let noises = [];
let [held, asked] = [0, 0];

/** The least whole number within which noise stays with this probability. */
function halfWidth(size, share) {
  const stay = Math.exp(-1 / size);
  const tail = (reach) => (2 * stay ** (reach + 1)) / (1 + stay);
  let reach = 0;
  while (tail(reach) > 1 - share) reach += 1;
  return reach;
}

function show(counted) {
  const [share, size] = [confidence.value / 100, 1 / epsilon.value];
  const half = halfWidth(size, share);
  const reach = Math.max(half, ...noises.map(Math.abs)) + half;
  const x = scale(0, 100, 4, 396);
  const y = scale(-reach, reach, 198, 6);
  const parts = [];
  let catches = 0;
  noises.forEach((noise, place) => {
    const inside = Math.abs(noise) <= half;
    catches += inside ? 1 : 0;
    const at = x(place + 0.5);
    parts.push(line(at, y(noise - half), at, y(noise + half), `chart-line ${inside ? "chart-kind-0" : "chart-miss"}`));
    if (!inside) parts.push(part("circle", { cx: at, cy: y(noise), r: 3.5, class: "chart-dot chart-kind-1" }));
  });
  parts.push(line(0, y(0), 400, y(0), "chart-zero-line"), label(400, 216, `horizontal line: the true count, ${told.count}`, "end"));
  draw(parts);
  if (counted) [held, asked] = [held + catches, asked + noises.length];
  say(`Each interval extends ${half} to both sides. ${catches} of 100 contain the true count; ${confidence.value} or a little more are ` +
    `expected.${asked > 100 ? ` Of ${asked.toLocaleString("en")} so far, ${percent(held / asked)} did.` : ""}`);
}

function ask(counted) {
  noises = Array.from({ length: 100 }, () => wholeLaplace(1 / epsilon.value));
  show(counted);
}

function anew() {
  [held, asked] = [0, 0];
  ask(true);
}

confidence.on(() => { [held, asked] = [0, 0]; show(true); });
epsilon.on(anew);
button("ask", () => ask(true));
begin(anew);

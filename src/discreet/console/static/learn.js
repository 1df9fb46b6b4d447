// What the lessons share. Everything here is generated in the browser: it protects nobody, and nothing is sent.

const SPACE = "http://www.w3.org/2000/svg";

export const area = document.getElementById("play");
export const told = JSON.parse(area.dataset.play);
export const picture = area.querySelector("svg");

/** A part of a picture: kind, attributes, text. */
export function part(kind, attributes = {}, text = "") {
  const made = document.createElementNS(SPACE, kind);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, typeof value === "number" ? value.toFixed(2) : value);
  }
  if (text) made.textContent = text;
  return made;
}

/** The picture anew, of these parts. */
export const draw = (parts, into = picture) => into.replaceChildren(...parts);

export const label = (x, y, text, anchor = "start") =>
  part("text", { x, y, "text-anchor": anchor, class: "chart-quiet" }, text);

export const line = (x1, y1, x2, y2, kind) => part("line", { x1, y1, x2, y2, class: kind });

/** A curve through points of [x, y]. */
export const curve = (points, kind) =>
  part("polyline", { fill: "none", class: kind, points: points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ") });

/** A straight map of [low, high] onto [start, end]. */
export const scale = (low, high, start, end) => (value) => start + ((value - low) / (high - low || 1)) * (end - start);

export function laplace(size) {
  const u = Math.random() - 0.5;
  return -size * Math.sign(u) * Math.log1p(-2 * Math.abs(u) + Number.EPSILON);
}

/** Whole-number Laplace noise: the difference of two geometric numbers. */
export function wholeLaplace(size) {
  const stay = Math.exp(-1 / size);
  const run = () => Math.floor(Math.log1p(-Math.random()) / Math.log(stay));
  return run() - run();
}

export const percent = (share) => `${(100 * (share < 1 ? Math.min(share, 0.999) : share)).toFixed((share > 0 && share < 0.005) || (share > 0.995 && share < 1) ? 1 : 0)}%`;

export const plain = (number, digits = 3) => Number(number.toPrecision(digits)).toLocaleString("en");

/** A slider's value, and what stands beside it. */
export function slider(name, shows = (value) => plain(value)) {
  const field = area.querySelector(`#${name}`);
  const beside = area.querySelector(`[data-shows="${name}"]`);
  const show = () => {
    beside.textContent = shows(Number(field.value));
    field.setAttribute("aria-valuetext", beside.textContent);
  };
  field.addEventListener("input", show);
  show();
  return { get value() { return Number(field.value); }, on: (act) => field.addEventListener("input", act) };
}

/** Which of a few things is chosen, from 0. */
export function choice(name) {
  const fields = [...area.querySelectorAll(`input[name="${name}"]`)];
  return {
    get value() { return fields.findIndex((each) => each.checked); },
    on: (act) => fields.forEach((each) => each.addEventListener("change", act)),
  };
}

export const button = (name, act) => area.querySelector(`[data-do="${name}"]`).addEventListener("click", act);

let waiting = 0;

/** Say it in words; a screen reader hears it when the hand rests. */
export function say(text) {
  clearTimeout(waiting);
  waiting = setTimeout(() => { area.querySelector("[data-said]").textContent = text; }, 150);
}

/** Show what needs a script, and begin. */
export function begin(act) {
  area.querySelector("[data-without]").hidden = true;
  area.querySelector("[data-play-area]").hidden = false;
  act();
}

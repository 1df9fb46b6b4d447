import { begin, button, draw, label, line, part, percent, plain, say, scale, slider, told, wholeLaplace } from "./learn.js";

const parents = slider("parents", (value) => ["none: no arrows", "K = 1", "K = 2"][value]);
const people = slider("people", (value) => plain(Math.round(10 ** value), 2));
const epsilon = slider("epsilon", (value) => plain(Math.exp(value), 2));
const sizes = told.values.map((values) => values.length);
const names = ["sex", "age", "education", "income"];
const places = [[60, 20], [60, 96], [195, 50], [330, 96]];
let rows = [];

/** One of several values, by their shares. */
function any(shares) {
  let left = Math.random() * shares.reduce((sum, share) => sum + share, 0);
  return Math.max(0, shares.findIndex((share) => (left -= share) < 0));
}

function person() {
  const { sex, age, college, rich } = told.tables;
  const one = any(sex);
  const years = any(age[one]);
  const school = any([college[years][one], 1 - college[years][one]]);
  return [one, years, school, any([1 - rich[school][years], rich[school][years]])];
}

/** The counts of a table: a column after its parents. */
function table(axes, noise) {
  const cells = new Array(axes.reduce((all, axis) => all * sizes[axis], 1)).fill(0);
  for (const each of rows) cells[place(axes, each)] += 1;
  return noise ? cells.map((count) => Math.max(0, count + wholeLaplace(noise))) : cells;
}

const place = (axes, row) => axes.reduce((at, axis) => at * sizes[axis] + row[axis], 0);

/** The share of a column's value given its parents' values. */
function share(cells, axes, row) {
  const [last, many] = [axes.at(-1), sizes[axes.at(-1)]];
  const first = place(axes, row) - row[last];
  const all = cells.slice(first, first + many).reduce((sum, count) => sum + count, 0);
  return all ? cells[first + row[last]] / all : 1 / many;
}

function misplaced(families, tables) {
  let off = 0;
  const joint = table([0, 1, 2, 3], 0);
  for (let at = 0; at < joint.length; at += 1) {
    const row = [Math.floor(at / 12), Math.floor(at / 4) % 3, Math.floor(at / 2) % 2, at % 2];
    const model = families.reduce((product, axes, column) => product * share(tables[column], axes, row), 1);
    off += Math.abs(joint[at] / rows.length - model) / 2;
  }
  return off;
}

function fit() {
  const strength = Math.exp(epsilon.value);
  const families = told.parents[parents.value].map((above, column) => [...above, column]);
  const tables = families.map((axes) => table(axes, 4 / strength));
  const parts = [];
  told.parents[parents.value].forEach((above, column) => above.forEach((other) => {
    const [[x1, y1], [x2, y2]] = [places[other], places[column]];
    const [length, x, y] = [Math.hypot(x2 - x1, y2 - y1), x1 + (x2 - x1) * 0.62, y1 + (y2 - y1) * 0.62];
    const [right, down] = [(x2 - x1) / length, (y2 - y1) / length];
    const corners = [[x + 7 * right, y + 7 * down], [x - 4 * right - 5 * down, y - 4 * down + 5 * right],
      [x - 4 * right + 5 * down, y - 4 * down - 5 * right]];
    parts.push(line(x1, y1, x2, y2, "chart-line chart-kind-0"),
      part("polygon", { points: corners.map((each) => each.map((at) => at.toFixed(1)).join(",")).join(" "), class: "chart-dot chart-kind-0" }));
  }));
  places.forEach(([x, y], column) => parts.push(
    part("rect", { x: x - 42, y: y - 14, width: 84, height: 28, rx: 6, class: "chart-ground" }),
    part("rect", { x: x - 42, y: y - 14, width: 84, height: 28, rx: 6, class: "chart-none" }), label(x, y + 4, names[column], "middle")));
  const x = scale(0, 1, 150, 350);
  let certain = 0;
  [0, 1].forEach((school) => [0, 1, 2].forEach((age) => {
    const row = [0, age, school, 1];
    const exact = share(table([1, 2, 3], 0), [1, 2, 3], row);
    const noisy = share(tables[3], families[3], row);
    const counts = table([1, 2, 3], 0).slice(place([1, 2, 3], [0, age, school, 0]), place([1, 2, 3], row) + 1);
    if (Math.min(...counts) === 0 && Math.max(...counts) > 0) certain += counts[0] + counts[1];
    const y = 132 + (school * 3 + age) * 24;
    parts.push(label(144, y + 12, `${told.values[2][school]}, ${told.values[1][age]}`, "end"),
      part("rect", { x: 150, y, width: x(noisy) - 150, height: 14, class: "chart-bar" }),
      line(x(exact), y - 3, x(exact), y + 17, "chart-miss"), label(398, y + 12, percent(noisy), "end"));
  }));
  parts.push(label(398, 126, "share above 50K: bar as published, mark exact", "end"));
  draw(parts);
  say(`${rows.length.toLocaleString("en")} people, epsilon ${plain(strength, 2)} for four tables: this network misplaces ` +
    `${percent(misplaced(families, tables))} of them. ` + (certain
    ? `The exact table would reveal the income of ${certain} of them, because everybody of the same age and education has the same income.`
    : "In the exact table, no group of age and education has only one income."));
}

function anew() {
  rows = Array.from({ length: Math.round(10 ** people.value) }, person);
  fit();
}

parents.on(fit);
epsilon.on(fit);
people.on(anew);
button("fit", fit);
button("anew", anew);
begin(anew);

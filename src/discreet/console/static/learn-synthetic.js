import { begin, button, draw, label, laplace, part, percent, plain, say, slider } from "./learn.js";

const people = slider("people", (value) => plain(Math.round(10 ** value), 2));
const epsilon = slider("epsilon", (value) => plain(Math.exp(value), 2));
const tie = slider("tie", (value) => `${value}%`);
const SIDE = 4;
const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);

/** So many people: with the chance of the tie both columns are the same, else each is drawn for itself. */
function generated() {
  const cells = new Array(SIDE * SIDE).fill(0);
  const any = () => Math.floor(Math.random() ** 1.4 * SIDE);
  for (let turn = Math.round(10 ** people.value); turn > 0; turn -= 1) {
    const first = any();
    cells[first * SIDE + (Math.random() * 100 < tie.value ? first : any())] += 1;
  }
  return cells;
}

/** Counts with noise, as shares; the true total is not read. */
function noisy(counts, strength) {
  const blurred = counts.map((each) => Math.max(0, each + laplace(1 / strength)));
  const all = sum(blurred);
  return blurred.map((each) => (all ? each / all : 1 / counts.length));
}

const shades = ["chart-even", "chart-more-1", "chart-more-2", "chart-more-3", "chart-more-4"];

function grid(shares, left, name, most) {
  const parts = [label(left + 56, 12, name, "middle")];
  shares.forEach((share, place) => {
    const depth = Math.min(4, Math.round((4 * share) / most));
    const [x, y] = [left + (place % SIDE) * 28, 22 + Math.floor(place / SIDE) * 28];
    const cell = part("rect", { x, y, width: 27, height: 27, class: shades[depth] });
    cell.append(part("title", {}, percent(share)));
    parts.push(cell);
  });
  return parts;
}

function fit() {
  const cells = generated();
  const strength = Math.exp(epsilon.value);
  const real = cells.map((each) => each / sum(cells));
  const rows = Array.from({ length: SIDE }, (_, row) => sum(cells.slice(row * SIDE, row * SIDE + SIDE)));
  const columns = Array.from({ length: SIDE }, (_, column) => sum(cells.filter((_each, place) => place % SIDE === column)));
  const [first, second] = [noisy(rows, strength / 2), noisy(columns, strength / 2)];
  const alone = first.flatMap((row) => second.map((column) => row * column));
  const pair = noisy(cells, strength);
  const most = Math.max(...real);
  draw([...grid(real, 4, "as it is", most), ...grid(alone, 144, "each alone", most), ...grid(pair, 284, "the pair", most)]);
  const away = (shares) => sum(shares.map((share, place) => Math.abs(share - real[place]))) / 2;
  const [apart, together] = [away(alone), away(pair)];
  say(`Each column alone misplaces ${percent(apart)} of people, the pair ${percent(together)}. ` +
    (together < apart ? "Here it is better to count the pair." : "Here the noise on the pair is worse than not knowing the pair."));
}

for (const each of [people, epsilon, tie]) each.on(fit);
button("fit", fit);
begin(fit);

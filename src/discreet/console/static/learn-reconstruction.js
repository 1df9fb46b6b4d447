import { begin, button, draw, line, part, percent, plain, say, slider, told } from "./learn.js";

const people = told.people;
const noise = slider("noise", (value) => plain(value));
const questions = slider("questions", (value) => `${value}`);

/** Solve the positive definite equations a x = b by elimination. */
function solved(a, b) {
  const size = b.length;
  for (let pivot = 0; pivot < size; pivot += 1) {
    for (let row = pivot + 1; row < size; row += 1) {
      const factor = a[row][pivot] / a[pivot][pivot];
      for (let column = pivot; column < size; column += 1) a[row][column] -= factor * a[pivot][column];
      b[row] -= factor * b[pivot];
    }
  }
  const found = new Array(size).fill(0);
  for (let row = size - 1; row >= 0; row -= 1) {
    let rest = b[row];
    for (let column = row + 1; column < size; column += 1) rest -= a[row][column] * found[column];
    found[row] = rest / a[row][row];
  }
  return found;
}

/** Least squares around one half, held a little where there are fewer questions than people. */
function guessed(groups, answers) {
  const a = Array.from({ length: people }, (_, row) => Array.from({ length: people }, (_each, column) => (row === column ? 0.05 : 0)));
  const b = new Array(people).fill(0);
  groups.forEach((group, place) => {
    const rest = answers[place] - group.length / 2;
    for (const one of group) {
      b[one] += rest;
      for (const other of group) a[one][other] += 1;
    }
  });
  return solved(a, b).map((value) => value > 0);
}

function attack() {
  const secret = Array.from({ length: people }, () => Math.random() < 0.5);
  const everybody = secret.map((_, place) => place);
  const groups = Array.from({ length: questions.value }, () => everybody.filter(() => Math.random() < 0.5));
  const answers = groups.map((group) => group.filter((one) => secret[one]).length + (2 * Math.random() - 1) * noise.value);
  const found = guessed(groups, answers);
  const right = found.filter((value, place) => value === secret[place]).length;
  draw(secret.flatMap((value, place) => {
    const [x, y] = [20 + (place % 10) * 40, 20 + Math.floor(place / 10) * 36];
    if (found[place] === value) return [part("circle", { cx: x, cy: y, r: 10, class: "chart-bar" })];
    return [line(x - 8, y - 8, x + 8, y + 8, "chart-whisker"), line(x - 8, y + 8, x + 8, y - 8, "chart-whisker")];
  }));
  say(`${questions.value} answers, each wrong by up to ${plain(noise.value)}: the attacker gets ${right} of ${people} secrets right, ` +
    `${percent(right / people)}. Guessing gets about half right. The square root of ${people} is ${Math.sqrt(people).toFixed(1)}.`);
}

noise.on(attack);
questions.on(attack);
button("attack", attack);
begin(attack);

import { begin, button, choice, draw, label, line, part, percent, plain, say, scale, slider, told, wholeLaplace } from "./learn.js";

const march = slider("march", (value) => plain(value));
const april = slider("april", (value) => plain(value));
const times = slider("times", (value) => (value === 1 ? "once" : `${value} times`));
const ledger = choice("ledger");

/** Within how much 95% of answers are. */
function width(strength) {
  const stay = Math.exp(-strength);
  let reach = 0;
  while ((2 * stay ** (reach + 1)) / (1 + stay) > 0.05) reach += 1;
  return reach;
}

/** How many answers of each count are given, and what they cost together: in turns, March first. */
function answers() {
  if (ledger.value === 2) return { given: [1, 1], spent: march.value + april.value };
  const given = [0, 0];
  let spent = 0;
  for (let turn = 0; turn < 2 * times.value; turn += 1) {
    const cost = [march, april][turn % 2].value;
    if (ledger.value === 1 && spent + cost > told.budget + 1e-9) continue;
    given[turn % 2] += 1;
    spent += cost;
  }
  return { given, spent };
}

function mean(exact, strength, many) {
  let sum = 0;
  for (let turn = 0; turn < many; turn += 1) sum += exact + wholeLaplace(1 / strength);
  return sum / many;
}

function play() {
  const { given, spent } = answers();
  const rounds = 1000;
  let right = 0;
  for (let round = 0; round < rounds; round += 1) {
    const rich = Math.random() < 0.5;
    let guess = Math.random() < 0.5;
    if (given[0] && given[1]) {
      const difference = mean(told.april + (rich ? 1 : 0), march.value, given[0]) - mean(told.april, april.value, given[1]);
      if (difference !== 0.5) guess = difference > 0.5;
    }
    if (guess === rich) right += 1;
  }
  const most = 1 / (1 + Math.exp(-given[0] * march.value));
  const widths = [march, april].map((each, place) => (given[place] ? width(each.value) : Infinity));
  const bar = (y, value, most_, name, limit, text) => {
    const x = scale(0, most_, 130, 330);
    return [label(124, y + 13, name, "end"), part("rect", { x: 130, y, width: Math.min(200, x(value) - 130), height: 16, class: "chart-bar" }),
      line(x(limit), y - 4, x(limit), y + 20, "chart-miss"), label(398, y + 13, text, "end")];
  };
  draw([
    ...bar(6, widths[0], 40, "March is within", told.width, given[0] ? `± ${widths[0]}` : "refused"),
    ...bar(38, widths[1], 40, "April is within", told.width, given[1] ? `± ${widths[1]}` : "refused"),
    ...bar(70, spent, 2 * told.budget, "epsilon spent", told.budget, plain(spent)),
    ...bar(102, right / rounds, 1, "attacker right", told.most, percent(right / rounds)),
    ...bar(134, most, 1, "upper bound", told.most, percent(most)),
  ]);
  const useful = widths.every((each) => each <= told.width);
  const faults = [
    useful ? "" : `a count is not within ± ${told.width}`,
    spent > told.budget + 1e-9 ? `epsilon ${plain(spent)} is more than the limit` : "",
    most > told.most ? `an attacker can be right ${percent(most)} of the time` : "",
  ].filter(Boolean);
  say(`${given[0]} ${given[0] === 1 ? "answer" : "answers"} for March and ${given[1]} for April. The attacker subtracts the means and is right in ` +
    `${right} of ${rounds} rounds. ` + (faults.length ? `You have not won: ${faults.join(", and ")}.`
      : `You have won, with epsilon ${plain(Math.max(0, told.budget - spent))} left.`));
}

for (const each of [march, april, times, ledger]) each.on(play);
button("play", play);
begin(play);

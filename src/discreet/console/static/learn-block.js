import { area, begin, button, draw, label, line, part, plain, say, scale, slider, told, wholeLaplace } from "./learn.js";

const show = (value) => `${value}`;
const ages = [
  slider("one", show), slider("two", show), slider("three", show), slider("four", show), slider("five", show),
  slider("six", show), slider("seven", show),
];
const epsilon = slider("epsilon", (value) => plain(Math.exp(value), 2));
const kinds = [...area.querySelectorAll("[data-kind]")];
const list = area.querySelector("[data-fits]");

const guess = () => ages.map((age, place) => [age.value, Number(kinds[place].value)]);

/** The ages of those in the group of a statistic. A kind is sex * 4 + race * 2 + marital status. */
function members(people, statistic) {
  const is = (wish, bit) => wish < 0 || wish === bit;
  return people.filter(([age, kind]) => age >= statistic.age[0] && age <= statistic.age[1] &&
    is(statistic.sex, kind >> 2) && is(statistic.race, (kind >> 1) & 1) && is(statistic.marital, kind & 1))
    .map(([age]) => age).sort((one, other) => one - other);
}

function summary(found) {
  const half = found.length / 2;
  const median = found.length % 2 ? found[Math.floor(half)] : (found[half - 1] + found[half]) / 2;
  const mean = Math.floor((20 * found.reduce((sum, age) => sum + age, 0) + found.length) / (2 * found.length)) / 10;
  return { count: found.length, median, mean };
}

function fits(people, statistic) {
  const found = members(people, statistic);
  if (statistic.below) return found.length < statistic.below;
  const { count, median, mean } = summary(found);
  return count === statistic.count && median === statistic.median && mean === statistic.mean;
}

function row(people, statistic) {
  const item = document.createElement("li");
  const ok = fits(people, statistic);
  const want = statistic.below ? "(D)" : `${statistic.count}, ${statistic.median}, ${statistic.mean}`;
  const found = members(people, statistic);
  const { count, median, mean } = summary(found);
  const have = ok ? "" : ` – yours: ${statistic.below || !count ? count : `${count}, ${median}, ${mean}`}`;
  item.textContent = `${ok ? "✓" : "✗"} ${statistic.name} ${statistic.title}: ${want}${have}`;
  if (!ok) item.className = "off";
  return item;
}

function check() {
  const people = guess();
  const minor = people.filter(([age, kind]) => kind & 1 && age < 15).length;
  list.replaceChildren(...told.statistics.map((each) => row(people, each)));
  const right = told.statistics.filter((each) => fits(people, each)).length;
  const all = right === told.statistics.length && !minor;
  say(all ? "Every number fits. No other seven people fit all numbers, so you know every record of the block."
    : `${right} of ${told.statistics.length} numbers fit.${minor ? " Married people must be 15 or older." : ""}`);
}

/** Put one person right: the first who is in the solution and not yet in the guess. */
function hint() {
  const key = ([age, kind]) => `${age} ${kind}`;
  const wanted = told.world.map(key);
  const free = [];
  guess().forEach((person, place) => {
    const at = wanted.indexOf(key(person));
    if (at < 0) free.push(place);
    else wanted.splice(at, 1);
  });
  if (!free.length) return;
  const [age, kind] = wanted[0].split(" ");
  const field = area.querySelectorAll(".people input")[free[0]];
  kinds[free[0]].value = kind;
  field.value = age;
  field.dispatchEvent(new Event("input"));
}

function noise() {
  const strength = Math.exp(epsilon.value);
  const exact = told.statistics.map((each) => members(told.world, each).length);
  const noisy = exact.map((count) => count + wholeLaplace(told.scales[0] / strength));
  const reach = Math.max(8, ...noisy.map(Math.abs));
  const x = scale(-reach, reach, 150, 396);
  draw([line(x(0), 0, x(0), 212, "chart-zero-line"), ...noisy.flatMap((count, place) => {
    const y = 4 + place * 15;
    return [label(144, y + 9, `${told.statistics[place].name} ${told.statistics[place].title}`, "end"),
      part("rect", { x: Math.min(x(0), x(count)), y, width: Math.abs(x(count) - x(0)), height: 10, class: "chart-bar" }),
      line(x(exact[place]), y - 2, x(exact[place]), y + 12, "chart-miss")];
  })]);
  const [all, women, men] = noisy;
  const agree = all === women + men;
  area.querySelector("[data-noise]").textContent = `Published: ${all} people, ${women} women, ${men} men. ` +
    (agree ? "By chance, these three counts are consistent. " : `But ${women} + ${men} is ${women + men}: no real block has these counts. `) +
    `The thin marks are the exact counts. The scale of the noise is ${plain(told.scales[0] / strength)} for a count, and ` +
    `${plain(told.scales[1] / strength)} for a sum of ages.`;
}

for (const age of ages) age.on(check);
for (const kind of kinds) kind.addEventListener("change", check);
epsilon.on(noise);
button("hint", hint);
button("noise", noise);
begin(() => { check(); noise(); });

import { begin, button, draw, label, line, part, percent, say, scale, slider, told, wholeLaplace } from "./learn.js";

const zips = Array.from({ length: told.zips }, (_, place) => `0210${place}`);
const dates = ["the day", "the month", "the year", "ten years", "nothing"];
const digits = ["5 digits", "3 digits", "nothing"];
const year = slider("year", (value) => `${value}`);
const day = slider("day", (value) => `${value}`);
const place = slider("place", (value) => zips[value]);
const date = slider("dates", (value) => dates[value]);
const digit = slider("digits", (value) => digits[value]);
const sizes = [["alone", 1], ["2 to 4", 4], ["5 to 9", 9], ["10 to 99", 99], ["100 or more", Infinity]];
const any = (many) => Math.floor(Math.random() * many);
let [people, woman] = [[], true];

/** As many of each age up to 46, then ever fewer. */
function born() {
  for (;;) {
    const found = 1905 + any(92);
    if (Math.random() < Math.min(1, (found - 1900) / 50)) return found;
  }
}

const county = () => Array.from({ length: told.people }, () =>
  ({ zip: any(told.zips), year: born(), day: 1 + any(365), woman: Math.random() < 0.5, ill: any(told.diagnoses) }));

/** What is published of a person, as one text. */
function published(person) {
  const when = [
    `${person.year}-${person.day}`, `${person.year}-${Math.floor((person.day - 1) / 30.5)}`, person.year,
    Math.floor(person.year / 10), "",
  ][date.value];
  return `${digit.value ? "" : person.zip}|${when}|${person.woman}`;
}

function show() {
  const you = { zip: place.value, year: year.value, day: day.value, woman, ill: people[0].ill };
  people[0] = you;
  const groups = new Map();
  for (const each of people) {
    const key = published(each);
    const group = groups.get(key) ?? { size: 0, ills: new Set() };
    group.size += 1;
    groups.set(key, group);
    group.ills.add(each.ill);
  }
  const shares = sizes.map(() => 0);
  const kind = (size) => sizes.findIndex(([, most]) => size <= most);
  let [same, least] = [0, Infinity];
  for (const { size, ills } of groups.values()) {
    shares[kind(size)] += size / people.length;
    if (ills.size === 1) same += size;
    least = Math.min(least, size);
  }
  const mine = groups.get(published(you));
  const x = scale(0, 1, 100, 340);
  draw(shares.flatMap((share, row) => {
    const y = 8 + row * 32;
    const parts = [label(92, y + 15, sizes[row][0], "end"), part("rect", { x: 100, y, width: x(share) - 100, height: 20, class: "chart-bar" }),
      label(x(share) + 6, y + 15, percent(share))];
    return row === kind(mine.size) ? [...parts, line(97, y - 3, 97, y + 23, "chart-miss"), label(398, y + 15, "you", "end")] : parts;
  }));
  const noisy = mine.size + wholeLaplace(1);
  const crowd = mine.size === 1
    ? "You are the only one: anybody who has a list with names and these columns can read your diagnosis."
    : `You share these values with ${(mine.size - 1).toLocaleString("en")} others` +
      (mine.ills.size === 1 ? ". All of you have the same diagnosis, so it is disclosed." : `. Your group has ${mine.ills.size} different diagnoses.`);
  say(`${crowd} The table is ${least}-anonymous. ${percent(shares[0])} of people are alone; for ${percent(same / people.length)} of people, ` +
    `the whole group has one diagnosis. A count of people like you, with noise for epsilon 1, is ${noisy}. ` +
    `This result would be almost as likely without you.`);
}

function anew() {
  people = county();
  show();
}

for (const each of [year, day, place, date, digit]) each.on(show);
button("sex", () => { woman = !woman; show(); });
button("anew", anew);
begin(anew);

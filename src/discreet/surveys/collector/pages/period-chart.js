// Line charts of a survey with periods: a line for one answer, and the band of its intervals.

import { made, percent } from "./page.js";

/** So many answers have a chart; the table has all of them. */
const MOST_CHARTS = 8;
const SIZE = { width: 640, height: 200, left: 52, right: 8, top: 10, bottom: 26 };
const TICKS = 4;

/** A chart for each of the first answers; none before two periods have estimates. */
export function periodCharts({ periods, every }) {
  const estimated = periods.filter((period) => !period.waiting);
  if (estimated.length < 2) return [];
  const names = [...new Set(estimated.flatMap((period) => answers(period).map(({ name }) => name)))];
  return names.slice(0, MOST_CHARTS).map((name) => figure(name, every, periods.map((period) => point(period, name))));
}

function answers(period) {
  if (period.mean !== undefined) return [{ name: "mean", value: period.mean, interval: period.interval, shown: short }];
  return period.estimates.map(({ choice, share, interval }) => ({ name: choice, value: share, interval, shown: percent }));
}

/** One period of a line; without a value where it has no estimate. */
function point(period, name) {
  const answer = period.waiting ? undefined : answers(period).find((each) => each.name === name);
  return { at: period.period, begin: period.begin, ...answer };
}

function figure(name, every, points) {
  const node = made("figure");
  const valued = points.filter(({ value }) => value !== undefined);
  const [first, last] = [valued[0], valued.at(-1)];
  const drawn = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", class: "period-chart" });
  drawn.setAttribute(
    "aria-label",
    `${name} by ${every}: ${first.shown(first.value)} on ${first.begin} to ${last.shown(last.value)} on ${last.begin}`,
  );
  const scales = scalesOf(valued, first.shown);
  drawn.append(...axes(scales, valued, first.shown), ...runs(points).flatMap((run) => line(run, scales)));
  node.append(made("figcaption", name), drawn);
  return node;
}

/** Where a period and a value are drawn. A share has 0 on its axis. */
function scalesOf(points, shown) {
  const values = points.flatMap(({ value, interval }) => [value, ...(interval ?? [])]);
  const low = Math.min(...values, ...(shown === percent ? [0] : []));
  const high = Math.max(...values);
  const [begin, end] = [points[0].at, points.at(-1).at];
  const span = high - low || 1;
  const { width, height, left, right, top, bottom } = SIZE;
  return {
    low,
    high: low + span,
    x: (at) => left + ((at - begin) / (end - begin || 1)) * (width - left - right),
    y: (value) => height - bottom - ((value - low) / span) * (height - top - bottom),
  };
}

function axes({ low, high, x, y }, points, shown) {
  const marks = [];
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const value = low + ((high - low) * tick) / TICKS;
    marks.push(svg("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: y(value), y2: y(value), class: "grid" }));
    marks.push(text(shown(value), { x: SIZE.left - 6, y: y(value) + 4, "text-anchor": "end" }));
  }
  const [first, last] = [points[0], points.at(-1)];
  marks.push(text(first.begin, { x: x(first.at), y: SIZE.height - 6, "text-anchor": "start" }));
  marks.push(text(last.begin, { x: x(last.at), y: SIZE.height - 6, "text-anchor": "end" }));
  return marks;
}

/** The points between gaps. */
function runs(points) {
  const all = [[]];
  for (const each of points) {
    if (each.value === undefined) all.push([]);
    else all.at(-1).push(each);
  }
  return all.filter((run) => run.length);
}

function line(run, { x, y }) {
  const path = (pairs) => pairs.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const marks = [];
  const banded = run.filter(({ interval }) => interval);
  if (banded.length > 1) {
    const above = banded.map(({ at, interval }) => [at, interval[1]]);
    const below = banded.map(({ at, interval }) => [at, interval[0]]).reverse();
    marks.push(svg("polygon", { points: path([...above, ...below]), class: "band" }));
  } else if (banded.length) {
    const [{ at, interval }] = banded;
    marks.push(svg("line", { x1: x(at), x2: x(at), y1: y(interval[0]), y2: y(interval[1]), class: "alone" }));
  }
  marks.push(svg("polyline", { points: path(run.map(({ at, value }) => [at, value])), class: "line" }));
  for (const { at, value, interval, begin, shown } of run) {
    const dot = svg("circle", { cx: x(at), cy: y(value), r: 3 });
    const title = svg("title");
    title.textContent = `${begin}: ${shown(value)}${interval ? ` (${interval.map(shown).join(" to ")})` : ""}`;
    dot.append(title);
    marks.push(dot);
  }
  return marks;
}

function text(words, attributes) {
  const node = svg("text", attributes);
  node.textContent = words;
  return node;
}

function svg(kind, attributes = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function short(value) {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
}

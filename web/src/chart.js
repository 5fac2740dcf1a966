// An answer as a picture: bars with the interval as a line, its part from noise alone thick. Drawn as SVG, nothing else.
import { s } from "./dom.js";
import { blank, rounded } from "./numbers.js";

export const MOST = 80; // groups that are drawn

/** The first value by the first key, or null if there is nothing to draw. */
export function chart(answer) {
  const keys = answer.columns.filter((one) => one.role === "key");
  const value = answer.columns.find((one) => one.role === "value");
  const rows = answer.rows.slice(0, MOST).filter((row) => numeric(row[value?.name]));
  if (!value || !rows.length) return null;
  const labels = rows.map((row) => keys.map((key) => String(row[key.name] ?? "NULL")).join(", ") || value.name);
  const ordered = keys.length === 1 && rows.every((row) => typeof row[keys[0].name] === "number" || /^\d{4}-\d\d/.test(row[keys[0].name]));
  const points = rows.map((row) => ({ ...point(row, value), blank: blank(answer, value, row) }));
  return ordered && rows.length > 2 ? columns(labels, points, value.name, keys[0].name) : bars(labels, points, value.name);
}

/** Decimals are texts, so that no digit of theirs is lost. */
const numeric = (value) => typeof value === "number" || (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value));

function point(row, { name, half_width: noise }) {
  const number = (value) => (numeric(value) ? Number(value) : value);
  const at = number(row[name]);
  const [low, high] = [number(row[`${name}_lower`]), number(row[`${name}_upper`])];
  const end = (value, beyond) => (value === null ? beyond : (value ?? at)); // one that nothing certifies leaves the picture
  return { at, low: end(low, -Infinity), high: end(high, Infinity), open: low === null || high === null, noise: noise ?? null };
}

function scale(points, length) {
  const ends = points.flatMap(({ at, low, high, noise }) => [at, low, high, at - noise, at + noise, 0]).filter(Number.isFinite);
  const room = points.some(({ open }) => open) ? 1.1 : 1;
  const [from, to] = [Math.min(...ends) * room, Math.max(...ends) * room];
  return (value) => ((Math.min(to, Math.max(from, value)) - from) / (to - from || 1)) * length;
}

function words(labels, points) {
  return labels.map((label, i) => `${label}: ${points[i].blank ? "no information" : rounded(points[i].at, 4)}`).join("; ");
}

function bars(labels, points, title) {
  const [left, right, row] = [Math.min(220, 14 + 7 * Math.max(...labels.map((label) => label.length))), 90, 26];
  const x = scale(points, 600 - left - right);
  const height = row * points.length + 24;
  const drawn = points.flatMap((one, i) => {
    const y = i * row + 20;
    const from = x(0), to = x(one.at);
    return [
      s("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, labels[i].slice(0, 30)),
      !one.blank && s("rect", { class: "bar", x: left + Math.min(from, to), y, width: Math.max(1, Math.abs(to - from)), height: 18 }),
      s("line", { class: one.open ? "whole open" : "whole", x1: left + x(one.low), x2: left + x(one.high), y1: y + 9, y2: y + 9 }),
      one.noise && s("line", { class: "noise", x1: left + x(one.at - one.noise), x2: left + x(one.at + one.noise), y1: y + 9, y2: y + 9 }),
      s("text", { x: left + x(Math.max(one.high, one.at)) + 8, y: y + 13, class: "number" }, one.blank ? "no information" : rounded(one.at)),
    ];
  });
  return picture(600, height, title, words(labels, points), [s("text", { x: left, y: 12, class: "title" }, title), ...drawn]);
}

function columns(labels, points, title, axis) {
  const [width, height, bottom] = [640, 260, 46];
  const y = scale(points, height - bottom - 24);
  const step = (width - 60) / points.length;
  const floor = height - bottom;
  const every = Math.ceil(labels.length / 7); // as many labels as have room
  const drawn = points.flatMap((one, i) => {
    const x = 50 + i * step, middle = x + step / 2;
    const [zero, top] = [floor - y(0), floor - y(one.at)];
    return [
      !one.blank && s("rect", { class: "bar", x: x + step * 0.1, y: Math.min(zero, top), width: step * 0.8, height: Math.max(1, Math.abs(zero - top)) }),
      s("line", { class: one.open ? "whole open" : "whole", x1: middle, x2: middle, y1: floor - y(one.low), y2: floor - y(one.high) }),
      one.noise && s("line", { class: "noise", x1: middle, x2: middle, y1: floor - y(one.at - one.noise), y2: floor - y(one.at + one.noise) }),
      i % every === 0 && s("text", { x: middle, y: floor + 16, "text-anchor": "middle" }, labels[i].slice(0, 10)),
    ];
  });
  const top = Math.max(...points.flatMap(({ at, high }) => [at, high]).filter(Number.isFinite));
  return picture(width, height, title, words(labels, points), [
    s("text", { x: 0, y: 12, class: "title" }, title),
    s("text", { x: 44, y: 32, "text-anchor": "end", class: "number" }, rounded(top)),
    s("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, axis),
    ...drawn,
  ]);
}

function picture(width, height, title, description, children) {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "chart" }, s("title", {}, title), s("desc", {}, description), ...children);
}

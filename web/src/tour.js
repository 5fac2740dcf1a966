// A short tour: what epsilon does to neighbouring tables, and an attack by differences that fails.
import { h, s } from "./dom.js";

const density = (x, at, scale) => Math.exp(-Math.abs(x - at) / scale) / (2 * scale);

/** Two output curves of neighbouring tables: with more epsilon they part. */
export function curves(epsilon) {
  const scale = 1 / epsilon;
  const path = (at) => Array.from({ length: 201 }, (_, i) => { const x = 90 + i / 10; return `${i ? "L" : "M"}${(i * 2).toFixed(0)} ${(150 - 130 * density(x, at, scale) * 2 * scale).toFixed(1)}`; }).join("");
  return s("svg", { viewBox: "0 0 400 160", role: "img", class: "chart" }, s("title", {}, `Answers with and without one person, epsilon ${epsilon}`), s("path", { class: "with", d: path(100) }), s("path", { class: "without", d: path(101) }));
}

const STEPS = [
  { title: "Two tables that differ by one person", body: () => [curvesWithSlider(), h("p", {}, "One curve is the answer to a count with you in the table, the other without. Where they overlap, nobody can tell. A smaller epsilon draws them together and makes answers less exact.")] },
  { title: "The attack by differences", body: attack },
  { title: "What an answer costs", body: () => [h("p", {}, "While you type, the price and the error are shown and nothing is paid. The budget is finite: when it is spent, no new question is answered. Asking an old question again is free.")] },
];

function curvesWithSlider() {
  const place = h("div", {}, curves(1));
  const slider = h("input", { type: "range", min: "0.1", max: "4", step: "0.1", value: "1", "aria-label": "epsilon", oninput: (event) => { place.replaceChildren(curves(Number(event.target.value))); said.textContent = ` epsilon ${event.target.value}`; } });
  const said = h("span", {}, " epsilon 1");
  return h("div", {}, place, h("label", {}, slider, said));
}

const ATTACK = "SELECT COUNT(*) FROM visits WHERE diagnosis = 'HIV'\n\nSELECT COUNT(*) FROM visits WHERE diagnosis = 'HIV' AND NOT (age = 41 AND postcode = '1043')";
const [WITH, WITHOUT, SPREAD] = [1204, 1203, 40]; // exact counts of a table that nobody has, and how far noise moves them

/** Count everybody, then everybody but one: exact counts give that person away, noisy ones do not. */
function attack() {
  const noise = () => Math.round(SPREAD * Math.log(1 - Math.random()) * (Math.random() < 0.5 ? 1 : -1));
  const place = h("tbody", {});
  const row = (name, first, second) => h("tr", {}, [name, first, second, `${first - second}`].map((cell) => h("td", {}, typeof cell === "number" ? cell.toLocaleString("en") : cell)));
  const draw = () => place.replaceChildren(row("exact", WITH, WITHOUT), row("with noise", WITH + noise(), WITHOUT + noise()));
  draw();
  return [
    h("p", {}, "Count everybody, then everybody but one person, and subtract. Exact counts differ by 1: the one aged 41 in 1043 has it."),
    h("pre", { tabindex: "0", "aria-label": "Two questions" }, ATTACK),
    h("table", { "aria-label": "The attack" }, h("thead", {}, h("tr", {}, ["answers", "everybody", "but one", "difference"].map((text) => h("th", { scope: "col" }, text)))), place),
    h("p", {}, "With noise the difference tells nothing. A page can draw anew; the server does not: the same question gets the same answer again, so that asking often does not help."),
    h("p", {}, h("button", { type: "button", class: "small", onclick: draw }, "Draw the noise anew")),
  ];
}

export function tour(ask) {
  let at = 0;
  const body = h("div", {});
  const next = h("button", { type: "button", class: "primary", onclick: () => (at + 1 < STEPS.length ? turn(at + 1) : leave()) }, "Next");
  const dialog = h("dialog", { "aria-label": "Tour", onclose: () => dialog.remove() }, body, h("div", { class: "buttons" }, next, h("button", { type: "button", onclick: () => dialog.close() }, "Close")));
  const leave = () => {
    dialog.close();
    ask?.example();
  };
  const turn = (to) => {
    at = to;
    body.replaceChildren(h("p", { class: "muted" }, `${at + 1} of ${STEPS.length}`), h("h2", {}, STEPS[at].title), ...STEPS[at].body());
    next.textContent = at + 1 < STEPS.length ? "Next" : ask ? "Try it" : "Done";
  };
  document.body.append(dialog);
  turn(0);
  dialog.showModal();
}

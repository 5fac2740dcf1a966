// An answer: picture, table with grey digits, notes, and ways to take it along.
import { call } from "./api.js";
import { chart, MOST } from "./chart.js";
import { h, table } from "./dom.js";
import { blank, interval, parts, width } from "./numbers.js";

const FORMS = { CSV: "csv", Parquet: "parquet", JSON: "json" };

export function result(answer) {
  const price = Object.entries(answer.price).map(([name, amount]) => `${name} ${amount}`).join(", ");
  const drawn = chart(answer);
  return h(
    "section",
    { class: "panel", "aria-label": "Answer" },
    h("h2", {}, "Answer"),
    h("pre", { tabindex: "0", "aria-label": "The question of this answer" }, answer.asked.sql),
    h("p", { role: "status" }, answer.charged ? `Paid: ${price}.` : "Answered before: read again for free."),
    drawn && h("figure", {}, drawn, h("figcaption", { class: "muted" }, `Lines: ${answer.intervals}; the thick part is noise, a dashed line has an end that nothing certifies.${answer.rows.length > MOST ? ` The first ${MOST} of ${answer.rows.length.toLocaleString("en")} groups.` : ""}`)),
    rowsOf(answer),
    h("ul", { class: "muted" }, answer.notes.map((note) => h("li", {}, note))),
    h(
      "div",
      { class: "buttons" },
      Object.entries(FORMS).map(([label, form]) => h("button", { type: "button", onclick: () => save(answer.id, form) }, label)),
      h("button", { type: "button", onclick: (event) => copy(event.target, snippet(answer.asked)) }, "Copy for a notebook"),
    ),
  );
}

function rowsOf(answer) {
  const head = answer.columns.flatMap(({ name, role }) => (role === "key" ? [name] : [name, `± ${Number(answer.confidence) * 100}%`]));
  const rows = answer.rows.slice(0, 1000).map((row) => answer.columns.flatMap((column) => (blank(answer, column, row) ? [h("i", {}, "no information"), ""] : cells(row, column))));
  const shown = table("Noisy numbers; grey digits are below the noise", head, rows);
  return answer.rows.length > rows.length ? [shown, h("p", { class: "muted" }, `The first 1,000 of ${answer.rows.length} rows.`)] : shown;
}

function cells(row, { name, role }) {
  if (role === "key") return [row[name] === null ? h("i", {}, "NULL") : String(row[name])];
  const off = width(row, name);
  const [sure, grey] = parts(row[name], off);
  const [low, high] = [row[`${name}_lower`], row[`${name}_upper`]];
  const held = low === undefined ? "" : interval(...[row[name], low, high].map((end) => (end === null ? null : Number(end))));
  return [h("span", { class: "number" }, sure, h("span", { class: "grey" }, grey)), held];
}

async function save(id, form) {
  const blob = await call("GET", `/answers/${encodeURIComponent(id)}?format=${form}`, undefined, { blob: true });
  const link = h("a", { href: URL.createObjectURL(blob), download: `answer.${form}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function snippet({ sql, request, ...stated }) {
  const options = Object.entries(stated).map(([name, value]) => `, ${name}=${JSON.stringify(value)}`).join("");
  return `import dither as dt\n\nalice = dt.connect(${JSON.stringify(location.origin)}, token)\nanswer = alice.sql(${JSON.stringify(sql)}${options})\nanswer`;
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
}

// What a question would cost and how far its answer would be off, before anything is paid.
import { h, table } from "./dom.js";
import { rounded } from "./numbers.js";

export function explanation(found, use) {
  const price = Object.entries(found.price).map(([name, amount]) => `${name} ${rounded(amount)}`).join(", ");
  return [
    h("p", {}, h("strong", {}, `Would cost ${price}. `), found.groups > 1 ? `${found.groups.toLocaleString("en")} groups. ` : "", found.trade ?? ""),
    h(
      "ul",
      {},
      found.columns.map(({ name, expected_error: errors }) =>
        h("li", {}, `${name}: `, errors.map(expected).join(", ") || "no interval"),
      ),
    ),
    found.selected_keys && h("p", {}, `A group is shown if it has about ${found.selected_keys.owners_needed.toLocaleString("en")} owners.`),
    h("ul", { class: "muted" }, found.notes.map((note) => h("li", {}, note))),
    found.menu.length > 1 && menu(found, use),
  ];
}

function expected({ half_width: width, rows, ranks }) {
  if (ranks !== undefined) return `${rounded(ranks)} ranks or occurrences from the best`;
  return width === null ? "not known beforehand" : `± ${rounded(width)}${rows ? ` of ${rounded(rows)} rows` : ""}`;
}

/** The choice of rows that count of each person: less noise, but rows left out. */
function menu(found, use) {
  const name = found.columns[0]?.name;
  const rows = found.menu.map((one) => {
    const column = one.columns[0];
    const out = column.left_out.map((end) => (end === null ? "unknown" : rounded(end)));
    const label = one.chosen ? "as planned" : h("button", { type: "button", class: "small", onclick: () => use(one.rows_per_owner) }, `count ${one.rows_per_owner}`);
    return [String(one.rows_per_owner), `± ${rounded(column.noise)}`, out.join(" / "), label];
  });
  return h("details", {}, h("summary", {}, "Rows that count of each person"), table(`For ${name}`, ["rows each", "noise", "left out at most (above / below)", "use"], rows));
}

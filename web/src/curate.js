// The curator's views: tables, people and budgets, tokens. What is granted is granted on the command line.
import { call } from "./api.js";
import { h, show, table } from "./dom.js";
import { rounded } from "./numbers.js";
import { View } from "./view.js";

const FILES = { parquet: "application/vnd.apache.parquet", csv: "text/csv", arrow: "application/vnd.apache.arrow.stream" };

export class Tables extends View {
  constructor() {
    super("Tables");
  }

  async start() {
    const found = await call("GET", "/tables");
    const rows = found.map((one) => [one.name, one.people ?? "public", String(one.snapshot), policy(one), h("div", {}, this._refresh(one), this._drop(one))]);
    show(this.body, table("Registered tables", ["table", "people", "snapshot", "policy", "actions"], rows), this._register());
  }

  _refresh(one) {
    const use = (source) => call("POST", `/tables/${encodeURIComponent(one.name)}/refresh`, { source });
    return h("details", {}, h("summary", {}, `Refresh ${one.name}`), this._form(`New data of ${one.name}`, "Refresh", use));
  }

  _drop(one) {
    const sure = () => confirm(`Forget ${one.name} and its data? Budgets stay spent.`);
    return h("button", { type: "button", class: "small", onclick: () => sure() && this.act("Dropping", () => call("DELETE", `/tables/${encodeURIComponent(one.name)}`)) }, `Drop ${one.name}`);
  }

  _register() {
    const stated = h("textarea", { rows: 8, "aria-label": "Policy", spellcheck: "false" });
    stated.value = '{\n  "tables": {"visits": {"people": "patients", "owner": "patient_id", "max_rows_per_owner": 10,\n    "columns": {"age": {"kind": "int", "lower": 0, "upper": 105}}}}\n}';
    const use = (source) => {
      const read = JSON.parse(stated.value);
      for (const kind of ["tables", "public"]) for (const one of Object.values(read[kind] ?? {})) one.source ??= source;
      return call("POST", "/tables", { policy: read });
    };
    return h("details", {}, h("summary", {}, "Register a table"), h("label", {}, "Policy, as in a policy file ", stated), this._form("Data", "Register", use));
  }

  /** Data from a file that is sent, or from a path on the server. */
  _form(label, words, use) {
    const file = h("input", { type: "file", "aria-label": label, accept: Object.keys(FILES).map((end) => `.${end}`).join() });
    const place = h("input", { type: "text", placeholder: "or a path below the server's data root", "aria-label": `${label}: path on the server`, size: 36 });
    const submit = (event) => {
      event.preventDefault();
      this.act(words, async () => use(place.value || (await sent(file.files[0]))), (found) => this.body.prepend(reports(found)));
    };
    return h("form", { class: "column", onsubmit: submit }, file, place, h("button", { type: "submit" }, words));
  }
}

async function sent(file) {
  const type = file && FILES[file.name.split(".").pop().toLowerCase()];
  if (!type) throw new Error("Choose a Parquet, CSV or Arrow file.");
  const { upload } = await call("POST", "/uploads", undefined, { file: new Blob([file], { type }) });
  return `upload:${upload}`;
}

/** What a table was declared as. */
function policy(one) {
  return h("details", {}, h("summary", {}, `${Object.keys(one.columns).length} columns`), h("pre", { tabindex: "0", "aria-label": `Policy of ${one.name}` }, JSON.stringify(one, null, 1)));
}

/** What became of the records of a load: exact numbers, for the curator alone. */
function reports(found) {
  const each = Object.entries(found.loaded ?? { "": found });
  const rows = each.flatMap(([name, report]) => Object.entries(report).map(([what, value]) => [name, what.replaceAll("_", " "), written(value)]));
  return h("section", { "aria-label": "Load report" }, h("h3", {}, "Load report"), h("p", { class: "muted" }, "Exact numbers: they are for you, and for no analyst."), table("What became of the records", ["table", "what", "number"], rows));
}

const written = (value) => (Array.isArray(value) ? value.join("; ") : value && typeof value === "object" ? Object.entries(value).map(([name, one]) => `${name} ${one}`).join(", ") : String(value ?? ""));

export class People extends View {
  constructor({ acts }) {
    super("People and budgets");
    this.acts = acts;
  }

  async start() {
    const found = await call("GET", "/people");
    const rows = found.map((one) => {
      const name = one.kind === "zcdp" ? "rho" : "epsilon";
      const place = `/people/${encodeURIComponent(one.people)}${one.analyst ? `/analysts/${encodeURIComponent(one.analyst)}` : ""}`;
      const order = (what) => h("button", { type: "button", class: "small", onclick: () => this.act(`${what} ${one.analyst ?? one.people}`, () => call("POST", `${place}/${what}`)) }, `${what} ${one.analyst ?? one.people}`);
      const granted = Object.entries(one.granted).map(([what, amount]) => `${what} ${rounded(amount)}`).join(", ");
      return [one.people, one.analyst ?? "all", granted, `${rounded(one.spent[name])} ${name}`, `${rounded(one.left[name])} ${name}`, bar(one.spent[name] / one.granted[name]), one.state, this.acts ? h("span", { class: "buttons" }, order("freeze"), order("thaw")) : ""];
    });
    show(this.body, table("Accounts", ["people", "analyst", "granted", "spent", "left", "share", "state", "actions"], rows));
  }
}

function bar(share) {
  return h("progress", { max: 1, value: Math.min(1, share || 0), "aria-label": "share spent" });
}

export class Tokens extends View {
  constructor({ acts }) {
    super("Tokens");
    this.acts = acts;
  }

  async start() {
    const day = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 10);
    const found = await call("GET", "/tokens");
    const rows = found.toReversed().map((one) => [one.id, one.role, one.name ?? "", one.label, day(one.made), day(one.until), one.state, this.acts && one.state === "valid" ? h("button", { type: "button", class: "small", onclick: () => this.act("Revoking", () => call("DELETE", `/tokens/${one.id}`)) }, "Revoke") : ""]);
    show(this.body, table("All tokens, but not what they are", ["id", "role", "name", "label", "made", "ends", "state", "actions"], rows), h("p", { class: "muted" }, "Make one on the server: dither token make FOLDER --analyst NAME."));
  }
}

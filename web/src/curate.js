// The curator's views: tables, people and budgets, tokens. What is granted is granted on the command line.
import { call } from "./api.js";
import { h, show, table } from "./dom.js";
import { rounded } from "./numbers.js";
import { orders } from "./orders.js";
import { View } from "./view.js";

const FILES = { parquet: "application/vnd.apache.parquet", csv: "text/csv", arrow: "application/vnd.apache.arrow.stream" };

export class Tables extends View {
  constructor() {
    super("Tables");
  }

  async start() {
    const [found, accounts] = await Promise.all([call("GET", "/tables"), call("GET", "/people")]);
    this.people = accounts.filter((one) => !one.analyst).map((one) => one.people);
    const rows = found.map((one) => [one.name, one.people ?? "public", String(one.snapshot), policy(one), h("div", {}, this._refresh(one), this._drop(one))]);
    show(this.body, table("Registered tables", ["table", "people", "snapshot", "policy", "actions"], rows), this._register(), this._declare());
  }

  _refresh(one) {
    const use = (source) => call("POST", `/tables/${encodeURIComponent(one.name)}/refresh`, { source });
    return h("details", {}, h("summary", {}, `Refresh ${one.name}`), this._form(`New data of ${one.name}`, "Refresh", use));
  }

  _drop(one) {
    const sure = () => confirm(`Forget ${one.name} and its data? Budgets stay spent.`);
    return h("button", { type: "button", class: "small", onclick: () => sure() && this.act("Dropping", () => call("DELETE", `/tables/${encodeURIComponent(one.name)}`)) }, `Drop ${one.name}`);
  }

  /** The ordinary case: one table of people, whose columns are drafted from their names and types. */
  _register() {
    const field = (label, attributes = {}) => h("input", { type: "text", "aria-label": label, required: true, ...attributes });
    const [name, owner] = [field("Table name", { placeholder: "visits" }), field("Owner column", { placeholder: "patient_id" })];
    const people = h("select", { "aria-label": "People" }, this.people.map((one) => h("option", {}, one)));
    const most = field("Most rows of each owner", { type: "number", min: 1, value: 10 });
    const delimiter = field("Delimiter", { required: false, size: 3, placeholder: "," });
    const columns = h("textarea", { rows: 12, "aria-label": "Columns", spellcheck: "false" });
    columns.value = EXAMPLE;
    const draft = async (source) => {
      const found = await call("POST", "/draft", { source });
      delete found.columns[owner.value.trim()];
      columns.value = spelt(found.columns);
      delimiter.value = found.delimiter ?? "";
    };
    const use = (source) => {
      const table = { source, people: people.value, owner: owner.value.trim(), max_rows_per_owner: Number(most.value), columns: read(columns.value) };
      if (delimiter.value) table.delimiter = delimiter.value;
      return call("POST", "/tables", { policy: { tables: { [name.value.trim()]: table } } });
    };
    const source = this._source("Data");
    const register = (event) => (event.preventDefault(), this._load("Register", source, use));
    const fill = () => this._try("Draft columns", async () => draft(await source.take()));
    const label = (text, element) => h("label", {}, `${text} `, element);
    const form = h(
      "form",
      { class: "column", onsubmit: register },
      h("div", { class: "buttons" }, label("Table", name), label("of", people), label("owned by", owner), label("at most", most), "rows of each count"),
      h("div", { class: "buttons" }, source.element, label("fields of a CSV file are separated by", delimiter)),
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: fill }, "Draft columns"), h("span", { class: "muted" }, "from their names and types: no value is read. Then fill in what is blank.")),
      label("Columns", columns),
      h("button", { type: "submit" }, "Register"),
    );
    return h("details", {}, h("summary", {}, "Register a table"), this.people.length ? form : h("p", {}, "There are no people yet: dither init FOLDER --people NAME --epsilon 4 --delta 1e-6."));
  }

  /** Anything else: several tables, public ones, keys and foreign keys. */
  _declare() {
    const stated = h("textarea", { rows: 8, "aria-label": "Policy", spellcheck: "false" });
    stated.value = '{\n  "tables": {"visits": {"people": "patients", "owner": "patient_id", "max_rows_per_owner": 10,\n    "columns": {"age": {"kind": "int", "lower": 0, "upper": 105}}}}\n}';
    const use = (source) => {
      const policy = read(stated.value);
      for (const kind of ["tables", "public"]) for (const one of Object.values(policy[kind] ?? {})) one.source ??= source;
      return call("POST", "/tables", { policy });
    };
    return h("details", {}, h("summary", {}, "Register by a policy"), h("label", {}, "Policy, as in a policy file ", stated), this._form("Data of the policy", "Register these", use));
  }

  _form(label, words, use) {
    const source = this._source(label);
    const submit = (event) => (event.preventDefault(), this._load(words, source, use));
    return h("form", { class: "column", onsubmit: submit }, source.element, h("button", { type: "submit" }, words));
  }

  /** Data from a file that is sent, or from a path on the server; the server keeps no file that was sent, so each use sends it. */
  _source(label) {
    const file = h("input", { type: "file", "aria-label": label, accept: Object.keys(FILES).map((end) => `.${end}`).join() });
    const place = h("input", { type: "text", placeholder: "or a path below the server's data root", "aria-label": `${label}: path on the server`, size: 36 });
    return { element: h("div", { class: "buttons" }, file, place), take: async () => place.value || (await sent(file.files[0])) };
  }

  _load(words, source, use) {
    this.act(words, async () => use(await source.take()), (found) => this.body.prepend(reports(found)));
  }
}

const EXAMPLE = `{
  "age": {"kind": "int", "lower": 0, "upper": 105},
  "fee": {"kind": "fixed", "lower": 0, "upper": 500, "decimals": 2},
  "region": {"kind": "category", "labels": ["north", "south"]},
  "note": {"kind": "text"}
}`;

const spelt = (columns) => `{\n${Object.entries(columns).map(([name, one]) => `  ${JSON.stringify(name)}: ${JSON.stringify(one)}`).join(",\n")}\n}`;

function read(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`this is not written as JSON: ${error.message}`);
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
  constructor({ acts, grants }) {
    super("People and budgets");
    Object.assign(this, { acts, grants });
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
    show(this.body, table("Accounts", ["people", "analyst", "granted", "spent", "left", "share", "state", "actions"], rows), this.grants && orders("people", this));
  }
}

function bar(share) {
  return h("progress", { max: 1, value: Math.min(1, share || 0), "aria-label": "share spent" });
}

export class Tokens extends View {
  constructor({ acts, grants }) {
    super("Tokens");
    Object.assign(this, { acts, grants });
  }

  async start() {
    const day = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 10);
    const found = await call("GET", "/tokens");
    const rows = found.toReversed().map((one) => [one.id, one.role, one.name ?? "", one.label, day(one.made), day(one.until), one.state, this.acts && one.state === "valid" ? h("button", { type: "button", class: "small", onclick: () => this.act("Revoking", () => call("DELETE", `/tokens/${one.id}`)) }, "Revoke") : ""]);
    show(this.body, table("All tokens, but not what they are", ["id", "role", "name", "label", "made", "ends", "state", "actions"], rows), this.grants ? orders("tokens", this, ({ token }) => this.body.prepend(shownOnce(token))) : h("p", { class: "muted" }, "Make one on the server: dither token make FOLDER --analyst NAME."));
  }
}

function shownOnce(token) {
  const field = h("input", { type: "text", readonly: true, size: 70, "aria-label": "New token", value: token, onfocus: () => field.select() });
  return h("p", {}, "The new token, which is shown this once: ", field);
}

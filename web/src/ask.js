// The analyst's view: tables, editor, live price, run, answer.
import { ask, call, Offline, pending } from "./api.js";
import { Budget } from "./budget.js";
import { h, show } from "./dom.js";
import { Editor } from "./editor.js";
import { explanation } from "./explanation.js";
import { quoted } from "./names.js";
import { result } from "./result.js";
import { words } from "./words.js";

const DEBOUNCE = 350; // milliseconds without a key before the price is asked

export class Ask {
  constructor() {
    this.editor = new Editor({ onChange: () => this.changed(), onRun: () => this.run() });
    this.budget = new Budget();
    this.live = h("div", { class: "live", "aria-live": "polite" });
    this.answer = h("div", {});
    this.kind = h("select", { "aria-label": "Pay in", onchange: () => this.changed() }, ["epsilon", "rho", "error"].map((one) => h("option", {}, one)));
    this.amount = h("input", { type: "text", inputmode: "decimal", value: "0.1", "aria-label": "Price", size: 7, oninput: () => this.changed() });
    this.level = h("select", { "aria-label": "Confidence", onchange: () => this.changed() }, ["0.95", "0.5", "0.9", "0.99"].map((one) => h("option", { value: one }, `${Math.round(one * 100)}%`)));
    this.limit = h("input", { type: "number", min: 1, placeholder: "planned", "aria-label": "Rows of each person that count", oninput: () => this.changed() });
    this.button = h("button", { type: "submit", class: "primary" }, "Ask and pay");
    this.share = h("button", { type: "button", onclick: () => this.shareIt() }, "Share");
    this.link = h("p", { role: "status" });
    this.stop = h("button", { type: "button", hidden: true, onclick: () => (this.stopped = true) }, "Cancel");
    this.state = h("span", { role: "status", class: "muted" });
    this.tables = h("aside", { class: "panel tables", "aria-label": "Tables" });
    const form = h(
      "form",
      { class: "price", onsubmit: (event) => (event.preventDefault(), this.run()) },
      h("label", {}, "Pay ", this.kind, this.amount),
      h("label", {}, "Interval ", this.level),
      h("label", {}, "Rows each ", this.limit),
      this.button,
      this.share,
      this.stop,
      this.state,
    );
    const question = h("section", { class: "panel", "aria-label": "Question" }, h("h2", {}, "Question"), this.editor.element, form, this.link, this.live);
    this.element = h("div", { class: "ask" }, this.tables, h("div", { class: "middle" }, question, this.answer), this.budget.element);
  }

  /** Show what there is, and the question that a link names: it is for its reader to ask it, or not. */
  async start(shared) {
    const [tables] = await Promise.all([call("GET", "/tables"), this.spent()]);
    this.known = tables;
    this.editor.complete(tables);
    show(this.tables, h("h2", {}, "Tables"), tables.length ? tables.map((one) => this._table(one)) : h("p", {}, "There is no table yet."));
    if (shared) return this.open(shared);
    const kept = pending();
    if (kept) {
      this.load(kept);
      this.run(kept);
    }
  }

  async open(shared) {
    history.replaceState(null, "", "#Ask");
    try {
      this.load(await call("GET", `/questions/${encodeURIComponent(shared)}`));
      this.link.textContent = "Somebody shares this question. Nothing was asked or paid: look at its price first.";
    } catch (error) {
      this.link.textContent = "There is no such question, or it is about tables that you cannot ask about.";
    }
  }

  async shareIt() {
    try {
      const { id } = await call("POST", "/questions", this.question);
      const link = h("input", { type: "text", readonly: true, size: 60, "aria-label": "Link", value: `${location.origin}/#Ask/${id}`, onfocus: () => link.select() });
      show(this.link, "Who may ask this can open it here: ", link);
      link.focus();
    } catch (error) {
      show(this.link, this._words(error));
    }
  }

  _table(table) {
    const name = (text) => h("button", { type: "button", class: "link", title: "Put it into the question", onclick: () => this.editor.insert(quoted(text)) }, text);
    const columns = Object.entries(table.columns).map(([text, column]) => h("li", {}, name(text), h("span", { class: "muted" }, ` ${about(column)}`)));
    const owned = table.via ? ["owned through ", name(table.via[0])] : table.owner ? ["owned by ", name(table.owner), ", which is counted and never shown"] : "each row by itself";
    return h(
      "details",
      { open: true },
      h("summary", {}, h("strong", {}, table.name)),
      h("p", { class: "muted" }, table.people ? [`of ${table.people}, `, owned, `, at most ${table.max_rows_per_owner} rows of each`] : `public${table.shape?.rows ? `, ${counted(table.shape.rows)}` : ""}: join it to a table of people`),
      h("ul", {}, columns),
    );
  }

  async spent() {
    this.budget.update(await call("GET", "/budget").catch(() => undefined));
  }

  /** A first question, if there is none yet. */
  example() {
    if (location.hash !== "#Ask") location.hash = "#Ask";
    if (!this.editor.text.trim() && this.known?.length) this.editor.text = `SELECT COUNT(*) AS n FROM ${quoted(this.known[0].name)}`;
    this.editor.view.focus();
  }

  /** What is asked, as the API takes it. */
  get question() {
    const found = { sql: this.editor.text, [this.kind.value]: this.amount.value.trim() };
    if (this.level.value !== "0.95") found.confidence = this.level.value;
    if (this.limit.value) found.rows_per_owner = Number(this.limit.value);
    return found;
  }

  load(question) {
    this.editor.text = question.sql;
    this.kind.value = ["epsilon", "rho", "error"].find((name) => question[name] !== undefined) ?? "epsilon";
    this.amount.value = question[this.kind.value] ?? "0.1";
    this.level.value = question.confidence ?? "0.95";
    this.limit.value = question.rows_per_owner ?? "";
  }

  changed() {
    show(this.link);
    clearTimeout(this.timer);
    this.explaining?.abort();
    this.timer = setTimeout(() => this.explain(), DEBOUNCE);
  }

  async explain() {
    if (!this.editor.text.trim()) {
      this.editor.unmark();
      return show(this.live);
    }
    this.explaining = new AbortController();
    try {
      const found = await call("POST", "/explain", this.question, { signal: this.explaining.signal });
      this.editor.unmark();
      this.budget.update(undefined, found.price);
      show(this.live, explanation(found, (rows) => ((this.limit.value = rows), this.changed())));
    } catch (error) {
      if (error.name !== "AbortError") this.refused(error);
    }
  }

  refused(error) {
    this.budget.update(undefined, null);
    show(this.live, this._words(error));
  }

  /** An error in words, marked in the question if it has a place there. */
  _words(error) {
    const { what, hint } = words(error);
    const { line, column } = error.table ? this.editor.placeOf(error.table) : (error.fields ?? {});
    if (line) this.editor.mark(line, column ?? 1, what);
    const place = line ? `Line ${line}, column ${column}: ` : "";
    return [h("p", { class: "bad", role: "alert" }, place + what), hint && h("p", {}, hint)];
  }

  async run(question = this.question) {
    if (this.running || !question.sql.trim()) return;
    this.running = true;
    this.stopped = false;
    this.button.disabled = true;
    this.stop.hidden = false;
    this.state.textContent = "asking";
    try {
      const answer = await ask(question, (state) => (this.state.textContent = state), () => this.stopped);
      show(this.answer, result(answer));
      this.state.textContent = "";
      this.answer.scrollIntoView({ block: "nearest" });
    } catch (error) {
      this.state.textContent = error instanceof Offline ? error.message : "";
      show(this.answer, h("section", { class: "panel", "aria-label": "Refusal" }, this._words(error)));
    } finally {
      this.running = false;
      this.button.disabled = false;
      this.stop.hidden = true;
      this.spent();
    }
  }
}

const counted = (rows) => `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;

function about(column) {
  const ends = column.lower !== undefined ? ` ${column.lower} to ${column.upper}` : "";
  const values = column.values ? `: ${column.values.slice(0, 5).join(", ")}${column.values.length > 5 ? ", …" : ""}` : "";
  return `${column.kind}${ends}${values}${column.nullable ? ", may be NULL" : ""}`;
}

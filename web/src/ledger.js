// The ledger as a timeline, and its verification: what analysts see of their own, curators and auditors of all.
import { call } from "./api.js";
import { h, show } from "./dom.js";

const WORDS = {
  create: "The ledger was begun.",
  account: "A budget was opened.",
  register: "Data were loaded.",
  reserve: "A question was paid for.",
  settle: "It was answered.",
  freeze: "No new questions are answered.",
  grant: "A budget was raised, signed by the officer.",
  lower: "A budget was lowered.",
  close: "An account was closed for good.",
  officer: "An officer's key was enrolled.",
  thaw: "Questions are answered again.",
};

/** A question as it was asked: its text, its price and how many rows of each owner count, so that it is free again. */
function asked({ sql, plan, question }) {
  let key = JSON.parse(question ?? "{}"), rows;
  for (; typeof key.question === "string"; key = JSON.parse(key.question)) rows ??= key.rows_per_owner;
  return { sql, ...JSON.parse(plan ?? "{}").asked, ...(rows && { rows_per_owner: rows }) };
}

const number = (text) => {
  const [above, below = "1"] = String(text).split("/");
  return Number(above) / Number(below);
};

const MOST_PAGES = 20; // of the history that are shown, the newest

/** All entries, page by page, and in what each budget counts, which its first entry says. */
async function history() {
  const pages = [], units = {};
  for (let after = 0; ; ) {
    const page = await call("GET", `/history?after=${after}`);
    if (!page.length) return { entries: pages.flat(), units };
    for (const { kind, body } of page) if (kind === "account") units[body.people] = body.kind === "zcdp" ? "rho" : "epsilon";
    if (pages.push(page) > MOST_PAGES) pages.shift();
    after = page.at(-1).sequence;
  }
}

export class Ledger {
  constructor({ verify, open }) {
    this.open = open;
    this.list = h("ol", { class: "timeline" });
    this.said = h("p", { role: "status" });
    this.element = h("section", { class: "panel", "aria-label": "Ledger" }, h("h2", {}, verify ? "Ledger" : "History"), verify && h("button", { type: "button", onclick: () => this.verify() }, "Verify the whole ledger"), this.said, this.list);
  }

  async start() {
    const { entries, units } = await history();
    show(this.list, entries.toReversed().map((entry) => this._entry(entry, units)));
    if (!entries.length) show(this.list, h("li", {}, "Nothing yet."));
  }

  _entry({ sequence, kind, body }, units) {
    const cost = body.cost && kind === "reserve" ? ` (${[units[body.people], number(body.cost).toPrecision(3)].filter(Boolean).join(" ")})` : "";
    const who = [body.analyst, body.people, body.table].filter(Boolean).join(", ");
    const text = body.sql;
    return h(
      "li",
      {},
      h("span", { class: "muted" }, `${sequence} `),
      `${WORDS[kind] ?? kind}${cost} `,
      who && h("span", { class: "muted" }, who),
      body.time && h("time", { class: "muted" }, ` ${new Date(1000 * body.time).toISOString().slice(0, 16).replace("T", " ")} UTC`),
      text && h("pre", {}, text),
      text && this.open && this._again(sequence, body),
    );
  }

  /** What was paid for is there: to be read, or to be asked again as it was. */
  _again(sequence, body) {
    const place = h("div", {});
    const read = async () => {
      const found = await call("GET", `/statement/${sequence}`).catch((error) => ({ released: error.message }));
      show(place, h("pre", { tabindex: "0", "aria-label": `Answer ${sequence}` }, found.released ?? "There is no answer: it failed, or is not there yet."));
    };
    const button = (words, onclick) => h("button", { type: "button", class: "small", onclick }, words);
    return h("div", {}, h("div", { class: "buttons" }, button("Read the answer", read), button("Open in the editor", () => this.open(asked(body)))), place);
  }

  async verify() {
    this.said.textContent = "checking";
    try {
      const found = await call("GET", "/verify");
      this.said.textContent = `All ${found.entries} entries are intact.`;
      this.said.className = "good";
    } catch (error) {
      this.said.textContent = error.message;
      this.said.className = "bad";
    }
  }
}

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

const number = (text) => {
  const [above, below = "1"] = String(text).split("/");
  return Number(above) / Number(below);
};

const MOST_PAGES = 20; // of the history that are shown, the newest

/** All entries, page by page. */
async function history() {
  const pages = [];
  for (let after = 0; ; ) {
    const page = await call("GET", `/history?after=${after}`);
    if (!page.length) return pages.flat();
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
    const entries = await history();
    show(this.list, entries.toReversed().map((entry) => this._entry(entry)));
    if (!entries.length) show(this.list, h("li", {}, "Nothing yet."));
  }

  _entry({ sequence, kind, body }) {
    const cost = body.cost && kind === "reserve" ? ` (${number(body.cost).toPrecision(3)})` : "";
    const who = [body.analyst, body.people, body.table].filter(Boolean).join(", ");
    const text = body.sql ?? body.text;
    return h(
      "li",
      {},
      h("span", { class: "muted" }, `${sequence} `),
      `${WORDS[kind] ?? kind}${cost} `,
      who && h("span", { class: "muted" }, who),
      body.time && h("time", { class: "muted" }, ` ${new Date(1000 * body.time).toISOString().slice(0, 16).replace("T", " ")} UTC`),
      text && h("pre", {}, text),
      text && this.open && h("button", { type: "button", class: "small", onclick: () => this.open(body) }, "Open in the editor"),
    );
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

// A view of the curator's or the auditor's: what there is, and how the last thing that was done went.
import { h } from "./dom.js";

export class View {
  constructor(title) {
    this.body = h("div", {});
    this.said = h("p", { role: "status" });
    this.element = h("section", { class: "panel", "aria-label": title }, h("h2", {}, title), this.said, this.body);
  }

  /** Do something and say how it went. */
  async _try(words, work) {
    this.said.className = "muted";
    this.said.textContent = `${words} …`;
    try {
      await work();
      this.said.textContent = `${words}: done.`;
    } catch (error) {
      this.said.className = "bad";
      this.said.textContent = error.message;
    }
  }

  /** Do something, say how it went, and show what there is now; `after` gets what was done. */
  async act(words, work, after = () => {}) {
    await this._try(words, async () => {
      const found = await work();
      await this.start();
      after(found);
    });
  }
}

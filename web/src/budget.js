// The budget as a gauge, with what a question would take of it, so often as one likes.
import { h, show } from "./dom.js";
import { rounded } from "./numbers.js";

/** What a budget counts in: rho where Gaussian noise adds up, else epsilon. */
const unit = (budget) => (budget.kind === "zcdp" ? "rho" : "epsilon");

export class Budget {
  constructor() {
    this.element = h("section", { class: "panel", "aria-label": "Budget" });
    this.many = 1;
  }

  update(budget, price) {
    this.budget = budget ?? this.budget;
    this.price = price === undefined ? this.price : price;
    if (!this.budget) return;
    const name = unit(this.budget);
    const [granted, spent, left] = ["granted", "spent", "left"].map((part) => Number(this.budget[part][name]));
    const one = this.price ? Number(this.price[name] ?? NaN) : NaN;
    const next = Number.isFinite(one) ? one * this.many : 0;
    const share = (amount) => `${Math.min(100, Math.max(0, (100 * amount) / (granted || 1)))}`;
    const over = next > left;
    const meter = h(
      "span",
      { class: "gauge", role: "img", "aria-label": `${rounded(spent)} of ${rounded(granted)} ${name} spent` },
      gauge(share(spent), share(next), over),
    );
    const last = Number.isFinite(one) && one > 0 ? Math.floor(left / one) : null;
    show(
      this.element,
      h("h2", {}, "Budget"),
      meter,
      h("p", {}, `${rounded(spent)} of ${rounded(granted)} ${name} spent; ${rounded(left)} left.`),
      name === "rho" && h("p", { class: "muted" }, `That is epsilon ${rounded(this.budget.left.epsilon)} at delta ${this.budget.left.delta} still to spend.`),
      last !== null &&
        h(
          "label",
          {},
          "What if I asked so many like this one? ",
          h("input", { type: "number", min: 1, max: 1000, value: this.many, oninput: (event) => this._count(event.target.value) }),
        ),
      last !== null && h("p", { class: over ? "bad" : "muted", role: "status" }, over ? `Not enough is left: it pays for ${last}.` : `Then ${rounded(left - next)} ${name} is left. It pays for ${last} in all.`),
    );
  }

  _count(text) {
    this.many = Math.max(1, Number(text) || 1);
    this.update();
    this.element.querySelector("input")?.focus();
  }
}

function gauge(spent, next, over) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 6");
  svg.setAttribute("preserveAspectRatio", "none");
  for (const [name, x, width] of [["left", 0, 100], ["spent", 0, spent], [over ? "over" : "next", spent, Math.min(next, 100 - spent)]]) {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    Object.entries({ class: name, x, y: 0, width, height: 6 }).forEach(([key, value]) => rect.setAttribute(key, value));
    svg.append(rect);
  }
  return svg;
}

// What one question may take: shown, and changed one at a time.
import { call } from "./api.js";
import { h, show, table } from "./dom.js";
import { View } from "./view.js";

export class Limits extends View {
  constructor() {
    super("Limits of one question");
  }

  async start() {
    const found = await call("GET", "/limits");
    const rows = Object.entries(found).map(([name, value]) => [name, this._field(name, value)]);
    show(this.body, table("Limits", ["limit", "value"], rows));
  }

  _field(name, value) {
    const field = h("input", { type: "text", "aria-label": name, value: value === null ? "" : String(value), placeholder: "none" });
    const change = (event) => {
      event.preventDefault();
      this.act(`Changing ${name}`, () => call("PATCH", "/limits", { limits: { [name]: read(field.value.trim()) } }));
    };
    return h("form", { class: "buttons", onsubmit: change }, field, h("button", { type: "submit", class: "small" }, `Change ${name}`));
  }
}

/** A value as JSON has it; what is none is a text. */
function read(text) {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// What an administrator orders where the server was started for it: people, analysts, tokens, and accounts lowered or closed.
import { call, Problem } from "./api.js";
import { h } from "./dom.js";

const BUDGET = { epsilon: {}, delta: { required: false, placeholder: "none: a pure one" } };
const ACCOUNT = { people: {}, analyst: { required: false, placeholder: "all" } };

const ORDERS = {
  people: {
    "Open people": { fields: { name: {}, ...BUDGET }, path: () => "/people" },
    "Make an analyst": { fields: { name: {}, people: {}, ...BUDGET }, path: () => "/analysts" },
    "Give an account less": { fields: { ...ACCOUNT, ...BUDGET, reason: {} }, path: ({ people }) => `/people/${encodeURIComponent(people)}/lower`, leave: ["people"] },
    "Close an account for good": { fields: { ...ACCOUNT, reason: {} }, path: ({ people }) => `/people/${encodeURIComponent(people)}/close`, leave: ["people"], sure: "It is charged no more, for good." },
  },
  tokens: {
    "Make a token": { fields: { role: { placeholder: "analyst" }, name: { required: false, placeholder: "of an analyst" }, days: { type: "number", min: 1, value: 90 }, label: { required: false } }, path: () => "/tokens" },
  },
};

/** A form for each order; `view` says how it went, and `after` gets what the server has made. */
export function orders(kind, view, after) {
  return Object.entries(ORDERS[kind]).map(([words, { fields, path, leave = [], sure }]) => {
    const inputs = Object.entries(fields).map(([name, more]) => [name, h("input", { type: "text", required: true, "aria-label": `${words}: ${name}`, ...more })]);
    const submit = (event) => {
      event.preventDefault();
      const stated = Object.fromEntries(inputs.filter(([, input]) => input.value.trim()).map(([name, input]) => [name, input.type === "number" ? Number(input.value) : input.value.trim()]));
      const body = Object.fromEntries(Object.entries(stated).filter(([name]) => !leave.includes(name)));
      if (!sure || confirm(sure)) view.act(words, () => sent(path(stated), body), after);
    };
    const labels = inputs.map(([name, input]) => h("label", {}, `${name} `, input));
    return h("details", {}, h("summary", {}, words), h("form", { class: "buttons", onsubmit: submit }, labels, h("button", { type: "submit" }, words)));
  });
}

async function sent(path, body) {
  try {
    return await call("POST", path, body);
  } catch (error) {
    if (error instanceof Problem && error.code === "not_found") throw new Error("this server grants nothing from afar: it was started without --remote-admin.");
    throw error;
  }
}

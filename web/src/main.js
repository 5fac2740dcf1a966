// The page: sign in, then the views of one's role.
import { becomes, session, signIn, signOut } from "./api.js";
import { Ask } from "./ask.js";
import { People, Tables, Tokens } from "./curate.js";
import { h, show } from "./dom.js";
import { Ledger } from "./ledger.js";
import { Limits } from "./limits.js";
import "./style.css";
import { tour } from "./tour.js";

const VISITORS = ["analyst", "curator", "auditor", "administrator"];

function views({ role }) {
  const [acts, grants] = [role !== "auditor", role === "administrator"];
  const all = {};
  if (["analyst", "curator"].includes(role)) {
    const ask = (all.Ask = new Ask());
    const open = (question) => (ask.load(question), location.replace("#Ask"));
    if (role === "analyst") all.History = new Ledger({ verify: false, open });
  }
  if (role !== "analyst") {
    if (role === "curator") all.Tables = new Tables();
    all.People = new People({ acts, grants });
    all.Ledger = new Ledger({ verify: true });
    all.Tokens = new Tokens({ acts, grants });
    if (acts) all.Limits = new Limits();
  }
  return all;
}

async function signedIn(who) {
  if (!VISITORS.includes(who.role)) {
    await signOut();
    throw new Error(`a token of the role ${who.role} has nothing to see here: it reads the counts of the admin listener.`);
  }
  becomes(who);
  const all = views(who);
  const names = Object.keys(all);
  const place = h("main", { id: "view", tabindex: "-1" });
  const links = names.map((name) => h("a", { href: `#${name}` }, name));
  const leave = async () => (await signOut().catch(() => {}), door());
  let turns = 0;
  const turn = async () => {
    const own = (turns += 1);
    const [stated, shared] = location.hash.slice(1).split("/");
    if (stated === "Tour") {
      history.replaceState(null, "", `#${names[0]}`);
      tour(all.Ask);
    }
    const name = names.includes(stated) ? stated : names[0];
    links.forEach((link, i) => (names[i] === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
    place.setAttribute("aria-busy", "true");
    show(place, all[name].element);
    const failed = await all[name].start(shared).then(() => null, (error) => error);
    if (own !== turns) return; // another view is there by now
    if (failed) show(place, h("p", { class: "bad", role: "alert" }, failed.message));
    place.setAttribute("aria-busy", "false");
  };
  show(
    document.body,
    h("a", { class: "skip", href: "#view" }, "Skip to the view"),
    h("header", {}, h("h1", { class: "brand" }, "dither"), h("nav", { "aria-label": "Views" }, links), h("span", { class: "who" }, `${who.name ?? who.role} `, h("button", { type: "button", class: "small", onclick: () => tour(all.Ask) }, "Tour"), h("button", { type: "button", class: "small", onclick: leave }, "Sign out"))),
    place,
  );
  onhashchange = turn;
  await turn();
}

function door(said = "") {
  becomes(null);
  onhashchange = null;
  const field = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-label": "Token", size: 60 });
  const error = h("p", { class: "bad", role: "alert" }, said);
  const enter = async (event) => {
    event.preventDefault();
    try {
      const response = await signIn(field.value.trim());
      await signedIn(await response.json());
    } catch (problem) {
      error.textContent = problem.message;
    }
  };
  const form = h("form", { class: "panel door", onsubmit: enter }, h("h1", {}, "dither"), h("p", {}, "Questions about people, answered with noise that protects each of them."), h("label", {}, "Your token ", field), h("button", { type: "submit", class: "primary" }, "Sign in"), error, h("p", { class: "muted" }, "The curator makes one with: dither token make FOLDER --analyst NAME"));
  show(document.body, h("main", {}, form));
  field.focus();
}

document.addEventListener("signed-out", () => document.querySelector(".door") ?? door("Your session has ended: sign in with a valid token."));

try {
  const who = await session();
  await (who.role ? signedIn(who) : door());
} catch (error) {
  door(error.message);
}

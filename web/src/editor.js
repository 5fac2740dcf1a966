// The SQL editor. It lives in a shadow root, where its styles are sheets of the document and need no inline style.
import { autocompletion, closeBrackets, completionKeymap, ifNotIn } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql, SQLDialect } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { h } from "./dom.js";
import { quoted } from "./names.js";
import { FUNCTIONS, KEYWORDS, TYPES } from "./vocabulary.js";

const dialect = SQLDialect.define({ ...PostgreSQL.spec, keywords: KEYWORDS, types: TYPES, builtin: FUNCTIONS });

const ELSEWHERE = ["QuotedIdentifier", "String", "LineComment", "BlockComment", "."]; // where a column without its table is not meant

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.standard(tags.name)], color: "var(--keyword)" },
]);

const look = EditorView.theme({
  "&": { fontSize: "0.95rem", color: "var(--text)", backgroundColor: "var(--field)", border: "1px solid var(--line)", borderRadius: "6px" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-content": { minHeight: "7rem", paddingBottom: "7.5rem", // room for completions: they cover nothing that is below the editor
    caretColor: "var(--text)", fontFamily: "ui-monospace, monospace" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--selected)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "7rem" },
  ".cm-placeholder": { color: "var(--muted)" },
});

export class Editor {
  constructor({ onChange, onRun }) {
    this.schema = new Compartment();
    this.element = h("div", { class: "editor" });
    const root = this.element.attachShadow({ mode: "open" });
    const run = () => (onRun(), true);
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        extensions: [
          Prec.highest(keymap.of([{ key: "Mod-Enter", run }])),
          lineNumbers(),
          EditorView.lineWrapping,
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          autocompletion(),
          this.schema.of(sql({ dialect })),
          syntaxHighlighting(colours),
          keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]), // Tab leaves the editor
          placeholder("SELECT ..., COUNT(*) FROM ... GROUP BY ..."),
          EditorView.contentAttributes.of({ "aria-label": "SQL question" }),
          EditorView.updateListener.of((update) => update.docChanged && onChange()),
          look,
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  insert(text) {
    this.view.dispatch(this.view.state.replaceSelection(text));
    this.view.focus();
  }

  complete(tables) {
    const schema = Object.fromEntries(tables.map((one) => [one.name, [...Object.keys(one.columns), ...(one.owner ? [one.owner] : [])]]));
    const columns = [...new Set(Object.values(schema).flat())].map((label) => ({ label, type: "property", apply: quoted(label) }));
    const begun = (context) => {
      const word = context.matchBefore(/[\p{L}\p{N}_]+/u);
      if (!word && !context.explicit) return null;
      return { from: word?.from ?? context.pos, options: columns.filter(({ label }) => label !== word?.text) };
    };
    const anywhere = dialect.language.data.of({ autocomplete: ifNotIn(ELSEWHERE, begun) });
    this.view.dispatch({ effects: this.schema.reconfigure([sql({ dialect, schema, upperCaseKeywords: true }), anywhere]) });
  }

  /** Where a table of that name is asked about, as a line and a column; nothing if it is not found. */
  placeOf(table) {
    const { doc } = this.view.state;
    const name = `"?${table.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}"?`;
    const found = new RegExp(`(?:\\b(?:from|join)\\s+|[,.]\\s*)(?=${name})`, "i").exec(doc.toString());
    if (!found) return {};
    const line = doc.lineAt(found.index + found[0].length);
    return { line: line.number, column: found.index + found[0].length - line.from + 1 };
  }

  /** Underline where an error is: a line and a column, counted from 1. */
  mark(line, column, message) {
    const { doc } = this.view.state;
    const at = Math.min(doc.length, doc.line(Math.min(line, doc.lines)).from + column - 1);
    const word = /^[\w"']+/.exec(doc.sliceString(at))?.[0].length ?? 1;
    const to = Math.min(doc.length, at + word);
    this._diagnose([{ from: Math.min(at, Math.max(0, to - 1)), to, severity: "error", message }]);
  }

  unmark() {
    this._diagnose([]);
  }

  _diagnose(found) {
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }
}

// The editor over the text box of /ask: CodeMirror (codemirror.js, codemirror.txt) with this console's words. The box
// stays the source of truth: the form sends it, drafts keep it, and it is all there is where this does not load.
import * as cm from "./codemirror.js";

const CLAUSES = ["SELECT", "DISTINCT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "ON", "USING", "AS", "AND",
  "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "WITH", "FILTER", "OVER", "ROLLUP", "CUBE", "DESC"];
const KEYWORDS = [...new Set(CLAUSES.flatMap((each) => each.toLowerCase().split(" ")))].concat(
  "all any asc cast coalesce count cross current_date date_trunc distinct except exists extract false first following from full grouping inner",
  "interval intersect last lateral natural null nulls offset outer partition preceding row rows sets then true unbounded union within",
).join(" ");
/** A name as SQL writes it. */
export const quoted = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
const literal = (value) => `'${value.replaceAll("'", "''")}'`;

function wordsOf({ tables, functions }) {
  const words = CLAUSES.map((label) => ({ label, apply: label, type: "keyword" }));
  const add = (label, apply, type, detail) => words.push({ label, apply, type, detail });
  for (const table of tables) {
    add(table.name, quoted(table.name), "table", "table");
    for (const key of table.keys) add(key, quoted(key), "person", `person of ${table.name}`);
    for (const column of table.columns) {
      add(column.name, quoted(column.name), "column", `column of ${table.name}`);
      for (const value of column.values) add(value, literal(value), "value", `value of ${column.name}`);
    }
  }
  for (const each of functions) add(each, `${each}(`, "function", "function");
  const seen = new Set(); // an id of several tables is one word
  return words.filter((each) => !seen.has(each.apply) && seen.add(each.apply)).map((each) => ({ ...each, apply: put(each.apply) }));
}

/** Puts a word over what was typed, with the quotation mark before it and the one that was closed after it. */
const put = (text) => (view, completion, from, to) => {
  const at = (place) => view.state.sliceDoc(place, place + 1);
  const mark = at(from);
  const end = (mark === "'" || mark === '"') && at(to) === mark ? to + 1 : to;
  view.dispatch(cm.insertCompletionText(view.state, text, from, end));
};

/** `words`: gives the words of the moment, so that learning more of them leaves an open list as it is. */
const complete = (words) => (context) => {
  if (context.view && !context.view.hasFocus) return null; // somebody has gone on to another field meanwhile
  const typed = context.matchBefore(/['"]?[\p{L}\p{N}_]*/u);
  if (!typed || (typed.from === typed.to && !context.explicit)) return null;
  const start = typed.text.replace(/^['"]/, "").toLowerCase();
  const isText = typed.text.startsWith("'");
  const options = words().filter((each) => each.label.toLowerCase().startsWith(start) && each.label.toLowerCase() !== start
    && (!isText || each.type === "value"));
  return options.length ? { from: typed.from, options, filter: false } : null;
};

const point = cm.StateEffect.define();
const pointed = cm.StateField.define({
  create: () => cm.Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) {
      if (!effect.is(point)) continue;
      const [from, to] = [effect.value.from, Math.min(effect.value.to, change.state.doc.length)];
      return from < to ? cm.Decoration.set([cm.Decoration.mark({ class: "refused" }).range(from, to)]) : cm.Decoration.none;
    }
    return change.docChanged ? cm.Decoration.none : marks;
  },
  provide: (field) => cm.EditorView.decorations.from(field),
});

/** What is selected in the editor's own page, or nothing. */
function selectedIn(view) {
  const selection = view.root.getSelection();
  const range = selection.rangeCount ? selection.getRangeAt(0) : null;
  return range && view.contentDOM.contains(range.commonAncestorContainer) ? range : undefined;
}

/** Typing over a selection, as an edit of ours: the browser's own would keep the colour of what it replaces in an inline
 * style, which the content security policy forbids. */
const typedOver = cm.EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || !event.data || event.isComposing) return false;
    // What the browser would replace: the editor hears of a new selection a moment later. A range is not always told.
    const [range = selectedIn(view)] = event.getTargetRanges();
    if (!range) return false;
    const from = view.posAtDOM(range.startContainer, range.startOffset);
    const to = view.posAtDOM(range.endContainer, range.endOffset);
    if (from === to) return false;
    const edit = { changes: { from, to, insert: event.data }, selection: { anchor: from + event.data.length } };
    const insert = () => view.state.update({ ...edit, userEvent: "input.type" });
    const isTaken = view.state.facet(cm.EditorView.inputHandler).some((handler) => handler(view, from, to, event.data, insert));
    if (!isTaken) view.dispatch({ ...edit, userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

/**
 * Puts an editor over a text box. `label`: its label. `changed`: called after what a person typed; `run`: by Control+Enter.
 * What it gives has the methods of a text box that the page needs.
 */
export function openEditor({ box, label, describedBy, changed, run }) {
  let words = wordsOf({ tables: [], functions: [] });
  let quiet = false;
  const keys = [
    { key: "Mod-Enter", run: () => { run(); return true; } },
    { key: "Ctrl-Enter", run: () => { run(); return true; } },
    { key: "Tab", run: (view) => cm.completionStatus(view.state) === "active" && cm.acceptCompletion(view) },
  ];
  const view = new cm.EditorView({
    parent: box.parentNode,
    state: cm.EditorState.create({
      doc: box.value,
      extensions: [
        cm.history(), cm.drawSelection(), cm.highlightSpecialChars(), cm.bracketMatching(), cm.closeBrackets(), pointed,
        cm.EditorView.lineWrapping, typedOver, cm.EditorState.phrases.of({ Completions: "Suggestions" }),
        cm.sql({ dialect: cm.SQLDialect.define({ keywords: KEYWORDS, builtin: "", types: "date timestamp interval" }) }).language,
        cm.syntaxHighlighting(cm.classHighlighter),
        cm.autocompletion({ override: [complete(() => words)], icons: false, maxRenderedOptions: 40, selectOnOpen: false, interactionDelay: 0 }),
        cm.keymap.of([...keys, ...cm.closeBracketsKeymap, ...cm.completionKeymap, ...cm.historyKeymap, ...cm.defaultKeymap]),
        cm.EditorView.contentAttributes.of({ "aria-labelledby": label.id, "aria-describedby": describedBy, "aria-multiline": "true",
          autocapitalize: "off", spellcheck: "false" }),
        cm.EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          box.value = update.state.doc.toString();
          if (!quiet) changed();
        }),
      ],
    }),
  });
  box.before(view.dom);
  if (document.activeElement === box) view.focus(); // somebody was quicker than the script
  box.hidden = true;
  box.required = false; // a box that cannot be seen cannot say that it is empty: the page does
  label.removeAttribute("for");
  label.addEventListener("click", () => view.focus());
  const replace = (from, to, insert, select = {}) => view.dispatch({ changes: { from, to, insert },
    selection: { anchor: from + insert.length, ...select }, userEvent: "input.paste" });
  return {
    focus: () => view.focus(),
    /** Another text, as one step that can be undone. */
    write(text) {
      replace(0, view.state.doc.length, text);
    },
    /** The text of a draft: nothing that was typed here, so nothing is called. */
    restore(text) {
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      quiet = false;
    },
    /** A word where the cursor is, with a space where it would touch another one. */
    insert(word) {
      const { from, to } = view.state.selection.main;
      const before = view.state.sliceDoc(Math.max(0, from - 1), from);
      replace(from, to, /[\p{L}\p{N}_"']/u.test(before) ? ` ${word}` : word);
      view.focus();
    },
    select(from, to) {
      const most = view.state.doc.length;
      view.dispatch({ selection: { anchor: Math.min(from, most), head: Math.min(to, most) }, scrollIntoView: true });
      view.focus();
    },
    /** Underlines what a refusal is about. */
    point: (from, to) => view.dispatch({ effects: point.of({ from, to }) }),
    learn: (vocabulary) => { words = wordsOf(vocabulary); },
  };
}

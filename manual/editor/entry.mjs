// What the console's editor (static/sql-editor.js) uses of CodeMirror, and nothing else.
export { EditorState, Compartment, StateEffect, StateField } from "@codemirror/state";
export { EditorView, Decoration, keymap, lineNumbers, drawSelection, highlightSpecialChars, placeholder } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentLess, insertNewlineAndIndent } from "@codemirror/commands";
export { bracketMatching, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, completionStatus, insertCompletionText, startCompletion } from "@codemirror/autocomplete";
export { SQLDialect, sql } from "@codemirror/lang-sql";
export { classHighlighter } from "@lezer/highlight";

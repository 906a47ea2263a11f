/**
 * A code editor on CodeMirror. It is in a shadow root, where CodeMirror uses adopted style sheets. In a document, it
 * would add `<style>` elements, which the content security policy forbids.
 */
import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionStatus,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorSelection, EditorState, type Extension, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** A part of the text, in UTF-16 units. An empty range marks the next character. */
export interface EditorMark {
  readonly from: number;
  readonly to: number;
}

export type CodeLanguage = Extension;

/** A completion proposal. */
export interface CompletionOption {
  readonly label: string;
  /** A short text after the label, such as a type. */
  readonly detail?: string;
  readonly info?: string;
  /** The text to insert. Defaults to the label. */
  readonly insert?: string;
}

export interface CompletionRequest {
  readonly text: string;
  /** The index of the cursor, in UTF-16 units. */
  readonly position: number;
  /** True if the user asked for proposals with Ctrl-Space. */
  readonly isExplicit: boolean;
  /** Aborts when the user continues to type. */
  readonly signal: AbortSignal;
}

/** Proposals for the text between `from` and the cursor. The editor shows only the ones that match this text. */
export interface Completions {
  readonly from: number;
  readonly options: readonly CompletionOption[];
}

export type CompletionSource = (request: CompletionRequest) => Promise<Completions | undefined>;

interface CodeEditorOptions {
  readonly label: string;
  readonly value: string;
  readonly multiline: boolean;
  readonly placeholder: string;
  readonly language: CodeLanguage | undefined;
  /** If undefined, the editor uses the proposals of the language. */
  readonly complete: CompletionSource | undefined;
  /** The selection in the field that the editor replaces, or null if that field did not have the focus. */
  readonly selection: { readonly selectionStart: number | null; readonly selectionEnd: number | null } | null;
  readonly onChange: (value: string) => void;
  readonly onSubmit: (value: string) => void;
}

export interface CodeEditor {
  setValue(value: string): void;
  setMarks(marks: readonly EditorMark[]): void;
  destroy(): void;
}

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { padding: "5px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 8px" },
  ".cm-placeholder": { color: "var(--dim)" },
  ".cm-invalid": { textDecoration: "underline wavy var(--bad)", backgroundColor: "var(--bad-soft)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--raised)", outline: "1px solid var(--edge)" },
  ".cm-tooltip": {
    maxWidth: "min(560px, 94vw)",
    border: "1px solid var(--edge)",
    borderRadius: "6px",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-text)",
  },
  ".cm-completionDetail": { color: "var(--dim)", fontStyle: "normal" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo": { padding: "6px 8px", maxWidth: "280px", fontFamily: "system-ui, sans-serif" },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.typeName], color: "var(--line-2)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--busy)" },
  { tag: tags.comment, color: "var(--dim)" },
  { tag: [tags.standard(tags.name), tags.function(tags.variableName)], color: "var(--accent)" },
]);

const setMarks = StateEffect.define<readonly EditorMark[]>();
const invalid = Decoration.mark({ class: "cm-invalid" });

/** The marks. A mark moves with its text. */
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (current, transaction) => {
    const moved = current.map(transaction.changes);
    const effect = transaction.effects.find((one) => one.is(setMarks));
    if (effect === undefined) return moved;
    const length = transaction.newDoc.length;
    const ranges = (effect.value as readonly EditorMark[]).flatMap(({ from, to }) => {
      const end = Math.min(length, Math.max(to, from + 1));
      const start = Math.max(0, Math.min(from, end - 1));
      return end > start ? [invalid.range(start, end)] : [];
    });
    return Decoration.set(ranges, true);
  },
  provide: (field) => [
    EditorView.decorations.from(field),
    EditorView.contentAttributes.from(field, ({ size }) => (size > 0 ? { "aria-invalid": "true" } : {})),
  ],
});

/**
 * Replaces a selection when the user types. The browser would keep the colour of the selected text in the attribute
 * `style`, which the content security policy forbids.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { main } = view.state.selection;
    const text = event.data;
    if (event.inputType !== "insertText" || event.isComposing || text === null || main.empty) return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type" });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, main.from, main.to, text, insert))) view.dispatch(insert());
    return true;
  },
});

/** Keeps the text on one line: pasted line breaks become spaces. */
const oneLine: Extension = [
  EditorView.clipboardInputFilter.of((text) => text.replace(/\s*[\r\n]+\s*/g, " ")),
  EditorState.changeFilter.of((transaction) => transaction.newDoc.lines === 1),
];

const optionOf = ({ label, detail, info, insert }: CompletionOption): Completion => ({
  label,
  ...(detail !== undefined && { detail }),
  ...(info !== undefined && { info }),
  ...(insert !== undefined && { apply: insert }),
});

const sourceOf =
  (complete: CompletionSource) =>
  async (context: CompletionContext): Promise<CompletionResult | null> => {
    const controller = new AbortController();
    context.addEventListener("abort", () => controller.abort());
    const found = await complete({
      text: context.state.doc.toString(),
      position: context.pos,
      isExplicit: context.explicit,
      signal: controller.signal,
    }).catch(() => undefined);
    return found === undefined ? null : { from: found.from, options: found.options.map(optionOf) };
  };

/** Creates an editor in an element. The element becomes the host of a shadow root. */
export const createCodeEditor = (host: HTMLElement, options: CodeEditorOptions): CodeEditor => {
  const { label, multiline, selection, language, complete, onChange, onSubmit } = options;
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const submit = ({ state }: EditorView): boolean => {
    onSubmit(state.doc.toString());
    return true;
  };
  const state = EditorState.create({
    doc: multiline ? options.value : options.value.replace(/[\r\n]+/g, " "),
    extensions: [
      // Enter accepts a proposal first; the completion's own keys have the highest precedence.
      Prec.high(keymap.of([{ key: multiline ? "Mod-Enter" : "Enter", run: submit }])),
      keymap.of([
        { key: "Tab", run: (view) => completionStatus(view.state) === "active" && acceptCompletion(view) },
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...historyKeymap,
      ]),
      autocompletion({
        icons: false,
        ...(complete !== undefined && { override: [sourceOf(complete)] }),
      }),
      ...[history(), closeBrackets(), bracketMatching(), syntaxHighlighting(highlighting), marks, theme],
      replaceSelection,
      multiline ? [] : oneLine,
      EditorView.lineWrapping,
      placeholder(options.placeholder),
      EditorView.contentAttributes.of({
        "aria-label": label,
        "aria-multiline": String(multiline),
        spellcheck: "false",
      }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.doc.toString());
      }),
      language ?? [],
    ],
  });
  const view = new EditorView({ state, root, parent: root });
  if (selection !== null) {
    const { selectionStart, selectionEnd } = selection;
    const at = (index: number | null) => Math.min(index ?? 0, view.state.doc.length);
    view.dispatch({ selection: EditorSelection.single(at(selectionStart), at(selectionEnd)) });
    view.focus();
  }
  return {
    setValue: (value) => {
      const current = view.state.doc.toString();
      if (value !== current) view.dispatch({ changes: { from: 0, to: current.length, insert: value } });
    },
    setMarks: (list) => view.dispatch({ effects: setMarks.of(list) }),
    destroy: () => view.destroy(),
  };
};

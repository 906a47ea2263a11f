/** A code editor. Shows a plain field until the editor has loaded, so that the page is usable immediately. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CodeEditor, CodeLanguage, CompletionSource, EditorMark } from "./code-editor.ts";

interface EditorProps {
  /** The accessible name. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Called on Enter in a single-line editor, and on Ctrl-Enter or Cmd-Enter in a multi-line one. */
  readonly onSubmit: (value: string) => void;
  /** True if the text may have several lines. */
  readonly multiline?: boolean;
  readonly placeholder?: string;
  /** Returns the proposals at a position. Defaults to those of the language. */
  readonly complete?: CompletionSource;
  /** The parts of the text that are invalid. */
  readonly diagnostics?: readonly EditorMark[];
  /** Loads the language of the text. The editor ignores later values. */
  readonly language?: () => Promise<CodeLanguage>;
}

type Field = HTMLInputElement | HTMLTextAreaElement;

/** The plain field. */
const Plain = ({ label, value, onChange, onSubmit, multiline = false, placeholder, field }: PlainProps) => {
  const shared = {
    value,
    placeholder,
    class: "code",
    "aria-label": label,
    spellcheck: false,
    autocomplete: "off",
    onInput: ({ currentTarget }: { readonly currentTarget: Field }) => onChange(currentTarget.value),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.isComposing || (multiline && !event.ctrlKey && !event.metaKey)) return;
      event.preventDefault();
      onSubmit((event.currentTarget as Field).value);
    },
    ref: (element: Field | null) => {
      field.current = element;
    },
  };
  return multiline ? <textarea rows={6} {...shared} /> : <input type="text" {...shared} />;
};

interface PlainProps extends EditorProps {
  readonly field: { current: Field | null };
}

export const Editor = (props: EditorProps) => {
  const { value, diagnostics = [] } = props;
  const host = useRef<HTMLDivElement>(null);
  const field = useRef<Field | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<CodeEditor | undefined>(undefined);
  useEffect(() => {
    let created: CodeEditor | undefined;
    let isRemoved = false;
    const load = async (): Promise<void> => {
      const [{ createCodeEditor }, language] = await Promise.all([
        import("./code-editor.ts"),
        latest.current.language?.(),
      ]);
      if (isRemoved || host.current === null) return;
      const { label, multiline = false, placeholder = "", complete } = latest.current;
      created = createCodeEditor(host.current, {
        label,
        multiline,
        placeholder,
        language,
        value: latest.current.value,
        selection: field.current === document.activeElement ? field.current : null,
        complete: complete && ((request) => latest.current.complete?.(request) ?? Promise.resolve(undefined)),
        onChange: (text) => latest.current.onChange(text),
        onSubmit: (text) => latest.current.onSubmit(text),
      });
      setEditor(created);
    };
    // Without the code editor, the plain field remains.
    load().catch(() => undefined);
    return () => {
      isRemoved = true;
      created?.destroy();
    };
  }, []);
  // A layout effect runs before the next key press. A later effect would overwrite newly typed text.
  useLayoutEffect(() => editor?.setValue(value), [editor, value]);
  useEffect(() => editor?.setMarks(diagnostics), [editor, value, JSON.stringify(diagnostics)]);
  return (
    <div class={`editor ${props.multiline === true ? "many" : "one"} ${diagnostics.length > 0 ? "invalid" : ""}`}>
      {editor === undefined && <Plain {...props} field={field} />}
      <div ref={host} class="editor-host" />
    </div>
  );
};

/** Text that a service or a user wrote. */
import { useState } from "preact/hooks";
import { segmentsOf } from "./segments.ts";

const MAX_LENGTH = 20_000;

/** Shows text with ANSI colours and visible control characters. Cuts long text, with a button that shows all of it. */
export const Text = ({ children, max = MAX_LENGTH }: { readonly children: string; readonly max?: number }) => {
  const [all, setAll] = useState(false);
  const isCut = !all && children.length > max;
  const segments = segmentsOf(isCut ? children.slice(0, max) : children);
  return (
    <bdi class="untrusted">
      {segments.map(({ text, className }) => (className === "" ? text : <span class={className}>{text}</span>))}
      {isCut && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          … show all {children.length.toLocaleString("en")} characters
        </button>
      )}
    </bdi>
  );
};

/** Shows lines of output, which scroll if there are many. */
export const OutputLines = ({ lines }: { readonly lines: readonly string[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the element that has the focus
  <pre tabIndex={0}>
    {lines.map((line) => (
      <div>
        <Text>{line}</Text>
      </div>
    ))}
  </pre>
);

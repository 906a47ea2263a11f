/** Buttons that copy commands. */
import { signal } from "@preact/signals";
import { apiUrl } from "../shell/session.ts";
import { type ApiRequest, curlOf } from "./shell-words.ts";

/** The latest result of a copy or an action, which screen readers announce. */
export const announcement = signal("");

const copy = async (text: string, label: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text);
    announcement.value = `Copied: ${label}`;
  } catch {
    // A page on plain HTTP has no clipboard, and a browser may deny access. The prompt lets the user copy the text.
    globalThis.prompt(`Copy: ${label}`, text);
  }
};

export const CopyButton = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <button type="button" class="copy" title={text} onClick={() => void copy(text, label)}>
    Copy {label}
  </button>
);

interface CopyCommandsProps {
  readonly request: ApiRequest;
  /** Absent if the command line has no equivalent command. */
  readonly cli?: string;
}

/** Buttons that copy an action of the page as a `curl` command and, if there is one, as a `portside` command. */
export const CopyCommands = ({ request, cli }: CopyCommandsProps) => (
  <span class="copies">
    <CopyButton text={curlOf(apiUrl, request)} label="curl" />
    {cli !== undefined && <CopyButton text={cli} label="CLI" />}
  </span>
);

/** A command or a key, with a button that copies it. */
export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <code>{text}</code>
    <CopyButton text={text} label="command" />
  </div>
);

/** Modal dialogs. A dialog returns the focus to the element that opened it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "./resource.tsx";

interface DialogProps {
  /** The id of the element that names the dialog. */
  readonly labelledBy: string;
  /** For the style sheet. */
  readonly class?: string;
  readonly children: ComponentChildren;
  readonly close: () => void;
}

/**
 * A modal dialog, which Escape closes. The key handler calls `close` directly: the event `close` arrives later, and
 * another key could reach the open dialog in the meantime.
 */
export const Dialog = ({ labelledBy, class: name, children, close }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={name}
      onCancel={(event) => {
        if (event.target !== dialog.current) return;
        event.preventDefault();
        dismiss(dialog.current, close);
      }}
      // The event also arrives after the dialog was removed, when a different dialog may be open.
      onClose={({ currentTarget }) => currentTarget.isConnected && close()}
      aria-labelledby={labelledBy}
    >
      {children}
    </dialog>
  );
};

/** Closes the dialog around an element. The browser returns the focus only if a dialog closes before its removal. */
export const dismiss = (inside: Element | null, close: () => void): void => {
  inside?.closest("dialog")?.close();
  close();
};

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
  /** Runs the action. If it fails, the dialog shows the error and stays open. */
  readonly run: () => Promise<void>;
  readonly close: () => void;
}

/** A dialog that confirms an action. */
export const Confirm = ({ title, action, danger = false, disabled = false, children, run, close }: ConfirmProps) => {
  const [error, setError] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await run();
      dismiss(form.current, close);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog labelledBy="dialog-title" close={close}>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id="dialog-title">{title}</h2>
        {children}
        {error !== undefined && <Problem error={error} />}
        <div class="buttons">
          <button type="button" onClick={({ currentTarget }) => dismiss(currentTarget, close)}>
            Cancel
          </button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={disabled || isBusy}>
            {isBusy ? "Working…" : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
};

interface ConfirmNameProps extends Omit<ConfirmProps, "danger" | "disabled"> {
  /** The user must type this name. */
  readonly name: string;
  /** The buttons below the field. */
  readonly commands: ComponentChildren;
}

/** A dialog that confirms the deletion of a named thing. */
export const ConfirmName = ({ name, commands, children, ...props }: ConfirmNameProps) => {
  const [typed, setTyped] = useState("");
  return (
    <Confirm {...props} danger disabled={typed !== name}>
      {children}
      <label for="confirm-name">
        Type <strong>{name}</strong> to confirm
      </label>
      <input
        id="confirm-name"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      {commands}
    </Confirm>
  );
};

/** A modal dialog that confirms an action. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "./resource.tsx";

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
  /** Runs the action. The dialog shows its error, and stays open. */
  readonly run: () => Promise<void>;
  readonly close: () => void;
}

export const Confirm = ({ title, action, danger = false, disabled = false, children, run, close }: ConfirmProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await run();
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="dialog-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id="dialog-title">{title}</h2>
        {children}
        {error !== undefined && <Problem error={error} />}
        <div class="buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={disabled || isBusy}>
            {isBusy ? "Working…" : action}
          </button>
        </div>
      </form>
    </dialog>
  );
};

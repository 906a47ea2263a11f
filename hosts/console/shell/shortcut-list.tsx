/** The dialog that lists the keyboard shortcuts. */
import { Dialog, dismiss } from "../components/dialog.tsx";
import { shortcuts } from "./shortcuts.ts";

export const ShortcutList = ({ close }: { readonly close: () => void }) => (
  <Dialog labelledBy="shortcuts-title" close={close}>
    <form
      onSubmit={(event) => {
        event.preventDefault();
        dismiss(event.currentTarget, close);
      }}
    >
      <h2 id="shortcuts-title">Keyboard shortcuts</h2>
      <dl class="pairs">
        {shortcuts().map(({ keys, label }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="submit">Close</button>
      </div>
    </form>
  </Dialog>
);

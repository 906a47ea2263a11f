/** The API keys of the account: a list, a form that creates a key, and the dialog that revokes one. */
import { useRef, useState } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import { announcement, Command, CopyCommands } from "../components/copy.tsx";
import { Confirm, Dialog, dismiss } from "../components/dialog.tsx";
import { Loaded, Problem, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { Ago } from "../components/time.tsx";
import { client } from "../shell/session.ts";

type Key = Awaited<ReturnType<typeof client.listKeys>>[number];
type NewKey = Awaited<ReturnType<typeof client.createKey>>;

/** Shows a new key, which no later response contains. */
const Created = ({ created, close }: { readonly created: NewKey; readonly close: () => void }) => (
  <Dialog labelledBy="new-key-title" close={close}>
    <form
      onSubmit={(event) => {
        event.preventDefault();
        dismiss(event.currentTarget, close);
      }}
    >
      <h2 id="new-key-title">The new key</h2>
      <p>Copy the key now. The platform stores a hash instead of the key, so it cannot show the key again.</p>
      <Command text={created.key} />
      <div class="buttons">
        <button type="submit" class="primary">
          Done
        </button>
      </div>
    </form>
  </Dialog>
);

const Revoke = ({ id, prefix, label, close }: Key & { readonly close: () => void }) => (
  <Confirm
    title={`Revoke the key ${prefix}…?`}
    action="Revoke"
    danger
    run={async () => {
      const { detail } = await client.revokeKey({ id });
      announcement.value = detail;
    }}
    close={close}
  >
    <p>
      Programs that use the key ‘<Text max={100}>{label}</Text>’ stop working within 10 seconds. Console sessions that
      the key started also end.
    </p>
    <CopyCommands
      request={{ method: "POST", path: "/v1/key/revoke", json: { id } }}
      cli={cliOf("keys", "revoke", id)}
    />
  </Confirm>
);

const CreateKey = ({ created }: { readonly created: (key: NewKey) => void }) => {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState("");
  const [error, setError] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    setError(undefined);
    try {
      created(await client.createKey({ label: input.current?.value.trim() ?? "" }));
      if (input.current !== null) input.current.value = "";
    } catch (failure) {
      const issue = failure instanceof ApiError ? failure.issues.find(({ field }) => field === "label") : undefined;
      if (issue === undefined) setError(failure);
      else setProblem(`The label ${issue.message}.`);
      input.current?.focus();
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label for="key-label">Label of a new key</label>
      <div class="buttons">
        <input
          ref={input}
          id="key-label"
          autocomplete="off"
          placeholder="laptop"
          aria-invalid={problem !== ""}
          aria-describedby="key-label-problem"
        />
        <button type="submit" disabled={isBusy}>
          {isBusy ? "Creating…" : "Create key"}
        </button>
      </div>
      <p id="key-label-problem" class="field-problem" role="alert">
        {problem}
      </p>
      {error !== undefined && <Problem error={error} />}
    </form>
  );
};

export const Keys = () => {
  const keys = useResource("keys", (signal) => client.listKeys({ signal }));
  const [created, setCreated] = useState<NewKey | undefined>(undefined);
  const [revoked, setRevoked] = useState<Key | undefined>(undefined);
  return (
    <section class="card" aria-labelledby="keys-title">
      <div class="title">
        <h2 id="keys-title">API keys</h2>
        <CopyCommands request={{ method: "GET", path: "/v1/key/list" }} cli={cliOf("keys", "list")} />
      </div>
      <Loaded resource={keys} waiting="Loading the keys…">
        {(list) =>
          list.length === 0 ? (
            <p class="dim">The account has no keys.</p>
          ) : (
            <Table caption="API keys" columns={["Label", "Key", "Created", "Last used", "Action"]}>
              {list.map((key) => (
                <tr key={key.id}>
                  <th scope="row">
                    <Text max={100}>{key.label}</Text>
                  </th>
                  <td data-label="Key">
                    <code>{key.prefix}…</code>
                  </td>
                  <td data-label="Created">
                    <Ago time={key.created_at} />
                  </td>
                  <td data-label="Last used">
                    {key.last_used_at === null ? <span class="dim">never</span> : <Ago time={key.last_used_at} />}
                  </td>
                  <td data-label="Action">
                    <button
                      type="button"
                      class="danger"
                      aria-label={`Revoke the key ${key.prefix}`}
                      onClick={() => setRevoked(key)}
                    >
                      Revoke
                    </button>
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      <CreateKey
        created={(key) => {
          setCreated(key);
          keys.reload();
        }}
      />
      {created !== undefined && <Created created={created} close={() => setCreated(undefined)} />}
      {revoked !== undefined && (
        <Revoke
          {...revoked}
          close={() => {
            setRevoked(undefined);
            keys.reload();
          }}
        />
      )}
    </section>
  );
};

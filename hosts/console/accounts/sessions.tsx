/** The sessions of the console. */
import { useState } from "preact/hooks";
import { announcement, CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Loaded, useResource } from "../components/resource.tsx";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { Ago } from "../components/time.tsx";
import { client } from "../shell/session.ts";

type Session = Awaited<ReturnType<typeof client.listSessions>>["sessions"][number];

const REFRESH_MS = 30_000;

const End = ({ id, close }: { readonly id: string; readonly close: () => void }) => (
  <Confirm
    title="End the session?"
    action="End the session"
    danger
    run={async () => {
      const { detail } = await client.revokeSession({ id });
      announcement.value = detail;
    }}
    close={close}
  >
    <p>The page that uses the session is signed out within 10 seconds.</p>
    <CopyCommands request={{ method: "POST", path: "/v1/console/revoke", json: { id } }} />
  </Confirm>
);

const Credential = ({ credential: { kind, label } }: { readonly credential: Session["credential"] }) => (
  <span>
    {kind}
    {label !== "" && (
      <>
        {" "}
        ‘<Text max={100}>{label}</Text>’
      </>
    )}
  </span>
);

export const Sessions = () => {
  const sessions = useResource("sessions", (signal) => client.listSessions({ signal }), REFRESH_MS);
  const [ended, setEnded] = useState<string | undefined>(undefined);
  return (
    <section class="card" aria-labelledby="sessions-title">
      <div class="title">
        <h2 id="sessions-title">Sessions of the console</h2>
        <CopyCommands request={{ method: "GET", path: "/v1/console/sessions" }} />
      </div>
      <Loaded resource={sessions} waiting="Loading the sessions…">
        {(list) =>
          list.sessions.length === 0 ? (
            <p class="dim">The account has no sessions.</p>
          ) : (
            <Table caption="Sessions" columns={["Started by", "Started", "Last used", "Ends", "Action"]}>
              {list.sessions.map((session) => (
                <tr key={session.id}>
                  <th scope="row">
                    <Credential credential={session.credential} />
                  </th>
                  <td data-label="Started">
                    <Ago time={session.created_at} />
                  </td>
                  <td data-label="Last used">
                    {session.last_seen === undefined ? (
                      <span class="dim">never</span>
                    ) : (
                      <Ago time={session.last_seen} />
                    )}
                  </td>
                  <td data-label="Ends">
                    <Ago time={session.expires_at} />
                  </td>
                  <td data-label="Action">
                    {session.current ? (
                      <span class="dim">this session</span>
                    ) : (
                      <button type="button" class="danger" onClick={() => setEnded(session.id)}>
                        End
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      {ended !== undefined && (
        <End
          id={ended}
          close={() => {
            setEnded(undefined);
            sessions.reload();
          }}
        />
      )}
    </section>
  );
};

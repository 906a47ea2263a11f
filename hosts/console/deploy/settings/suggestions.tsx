/** The lists of suggestions for the fields of a form: the account's secrets and volumes, and the time zones. */
import { useResource } from "../../components/resource.tsx";
import { client } from "../../shell/session.ts";

/** If the platform cannot list the names, for example because it has no secrets, there are no suggestions. */
const namesOf =
  (list: (typeof client)["listSecrets"] | (typeof client)["listVolumes"]) => async (signal: AbortSignal) => {
    const found = await list({ signal }).catch(() => []);
    return found.map(({ name }) => name);
  };

interface ListProps {
  readonly id: string;
  readonly names: readonly string[] | undefined;
}

const List = ({ id, names = [] }: ListProps) => (
  <datalist id={id}>
    {names.map((name) => (
      <option key={name} value={name} />
    ))}
  </datalist>
);

const zones = Intl.supportedValuesOf("timeZone");

export const Suggestions = () => {
  const secrets = useResource("secret names", namesOf(client.listSecrets));
  const volumes = useResource("volume names", namesOf(client.listVolumes));
  return (
    <>
      <List id="secret-names" names={secrets.data.value} />
      <List id="volume-names" names={volumes.data.value} />
      <List id="zone-names" names={zones} />
    </>
  );
};

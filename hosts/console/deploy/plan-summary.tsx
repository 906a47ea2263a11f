/** The plan of a deploy or a rollback: what it does, and the settings that change. */
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";

const formatValue = (value: unknown): string =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 1);

interface Change {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** The changes side by side. */
export const Changes = ({
  changes,
  from,
  to,
}: {
  readonly changes: readonly Change[];
  readonly from: string;
  readonly to: string;
}) => (
  <Table caption="Changes" class="diff" columns={["Field", from, to]}>
    {changes.map((change) => (
      <tr key={change.field}>
        <th scope="row">
          <code>
            <Text>{change.field}</Text>
          </code>
        </th>
        <td class="removed" data-label={from}>
          <Text>{formatValue(change.from)}</Text>
        </td>
        <td class="added" data-label={to}>
          <Text>{formatValue(change.to)}</Text>
        </td>
      </tr>
    ))}
  </Table>
);

interface PlanSummaryProps {
  readonly summary: readonly string[];
  readonly changes: readonly Change[];
  /** The heading of the new values. */
  readonly to: string;
}

/** Shows each change once: in the table, not in the sentences. */
export const PlanSummary = ({ summary, changes, to }: PlanSummaryProps) => (
  <>
    <ul>
      {summary
        .filter((line) => !changes.some(({ field }) => line.startsWith(`Replace ${field}: `)))
        .map((line) => (
          <li key={line}>
            <Text>{line}</Text>
          </li>
        ))}
    </ul>
    {changes.length > 0 && <Changes changes={changes} from="Now" to={to} />}
  </>
);

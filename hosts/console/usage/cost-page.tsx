/** The costs of a month: charts and a table, grouped by day, deployment, user, chat or model. */

import { formatAmount } from "../../../core/domain/usage/decimal.ts";
import { BarChart } from "../components/bar-chart.tsx";
import { Command, CopyCommands } from "../components/copy.tsx";
import { formatCount } from "../components/format.ts";
import { Loaded, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { location, replaceQuery } from "../shell/router.ts";
import { client } from "../shell/session.ts";
import { type CostBar, type CostColumn, costBars, costColumns } from "./cost-columns.ts";
import { type CostMonth, costMonthOf, formatMonth } from "./cost-month.ts";

type Report = Awaited<ReturnType<typeof client.getCost>>;
type Group = Report["groups"][number];
type Key = Report["by"];

const keys: Readonly<Record<Key, string>> = {
  day: "Day",
  deployment: "Deployment",
  user: "User",
  chat: "Chat",
  model: "Model",
};
const DEFAULT_KEY = "day";

const isKey = (text: string): text is Key => Object.hasOwn(keys, text);

/** The maximum number of bars in a chart of groups other than days. */
const MAX_BARS = 10;
/** The maximum number of rows in the table, because each user or chat has one. */
const MAX_ROWS = 500;

const Name = ({ group, by }: { readonly group: Group; readonly by: Key }) =>
  group.key === null ? <span class="dim">no {by}</span> : <Text max={200}>{group.key}</Text>;

const MonthPicker = ({ month, listed, previous, next }: CostMonth) => (
  <div class="buttons months">
    <button type="button" aria-label="Previous month" onClick={() => replaceQuery({ month: previous })}>
      ‹
    </button>
    <label>
      <span class="hidden">Month</span>
      <select value={month} onChange={({ currentTarget }) => replaceQuery({ month: currentTarget.value })}>
        {listed.map((one) => (
          <option key={one} value={one}>
            {formatMonth(one)}
          </option>
        ))}
      </select>
    </label>
    <button
      type="button"
      aria-label="Next month"
      disabled={next === undefined}
      onClick={() => replaceQuery({ month: next })}
    >
      ›
    </button>
  </div>
);

const Days = ({ bars, label }: { readonly bars: readonly CostBar<Group>[]; readonly label: string }) => (
  <BarChart
    label={label}
    columns={bars.map(({ group, amount, share }) => ({
      key: group.key ?? "",
      title: `${group.key ?? "no day"}: ${amount}${group.complete ? "" : " (incomplete)"}`,
      parts: [{ tone: "line-0", share }],
      incomplete: !group.complete,
    }))}
  />
);

const Groups = ({ bars, by }: { readonly bars: readonly CostBar<Group>[]; readonly by: Key }) => (
  <ol class="ranking">
    {bars.map(({ group, amount, share }) => (
      <li key={group.key}>
        <span class="name">
          <Name group={group} by={by} />
        </span>
        <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          <rect class="line-0" width={share * 100} height={8} />
        </svg>
        <span class="amount">{amount}</span>
      </li>
    ))}
  </ol>
);

const Chart = ({ column, report }: { readonly column: CostColumn; readonly report: Report }) => {
  const { by, groups } = report;
  const bars = costBars(column, groups);
  if (bars.length === 0) return null;
  const shown = by === "day" ? bars : bars.toSorted((a, b) => b.share - a.share).slice(0, MAX_BARS);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{column.label}</span>
        <span class="legend">
          {shown.length < bars.length
            ? `The ${MAX_BARS} largest of ${bars.length}`
            : `${bars.length} ${by}${bars.length === 1 ? "" : "s"}`}
        </span>
      </figcaption>
      {by === "day" ? <Days bars={shown} label={`${column.label} by day`} /> : <Groups bars={shown} by={by} />}
    </figure>
  );
};

const Notes = ({ report, isOver }: { readonly report: Report; readonly isOver: boolean }) => {
  const { complete, partial, unreadable, total } = report;
  const notes = [
    !isOver && "The month is not over.",
    partial && "The search of the logs reached its time limit, so costs are missing. Try again later.",
    !complete &&
      !partial &&
      "Incomplete: the log does not reach back to the start of the month, because old entries expire.",
    total.unpriced > 0 &&
      `${total.unpriced} ${total.unpriced === 1 ? "turn" : "turns"} reported no cost. The sums include the tokens, but no cost for them.`,
    unreadable > 0 && `Omitted ${unreadable} invalid usage ${unreadable === 1 ? "line" : "lines"}.`,
    total.infrastructure === null && "The platform does not report the provider's charges.",
  ].filter((note) => note !== false);
  if (notes.length === 0) return null;
  return (
    <ul class={`notes ${complete ? "" : "warning"}`}>
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
};

const CostTable = ({ report, columns }: { readonly report: Report; readonly columns: readonly CostColumn[] }) => {
  const { by, groups } = report;
  // Newest days first, because they matter most.
  const rows = by === "day" ? groups.toReversed() : groups;
  const labels = [keys[by], "Turns", "Input tokens", "Output tokens", "Cached tokens"];
  return (
    <>
      <Table caption="Costs" class="numbers" columns={[...labels, ...columns.map(({ label }) => label)]}>
        {rows.slice(0, MAX_ROWS).map((group) => (
          <tr key={group.key}>
            <th scope="row">
              <span>
                <Name group={group} by={by} />
                {!group.complete && <span class="tag">incomplete</span>}
              </span>
            </th>
            <td data-label="Turns">{formatCount(group.turns)}</td>
            <td data-label="Input tokens">{formatCount(group.input)}</td>
            <td data-label="Output tokens">{formatCount(group.output)}</td>
            <td data-label="Cached tokens">{formatCount(group.cached)}</td>
            {columns.map((column) => (
              <td key={column.label} data-label={column.label}>
                {formatAmount(column.amountOf(group))}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {groups.length > MAX_ROWS && (
        <p class="dim">
          The first {MAX_ROWS} of {groups.length} rows. The copied commands return all of them.
        </p>
      )}
    </>
  );
};

const Empty = () => (
  <section class="empty">
    <h2>No costs in this month</h2>
    <p>
      The page adds up the usage lines that services write to their logs, and the provider's charges. A usage line is
      JSON:
    </p>
    <Command text={'{"level":"usage","model":"my-model","user_id":"ada","input":1200,"output":300,"cost":0.0125}'} />
  </section>
);

const Costs = ({ report, isOver }: { readonly report: Report; readonly isOver: boolean }) => {
  const columns = costColumns(report.total);
  // The charges are not grouped by user, chat or model.
  const shown = report.by === "day" || report.by === "deployment" ? columns : columns.slice(0, 1);
  const isEmpty = report.total.turns === 0 && columns.every((column) => column.amountOf(report.total).digits === 0n);
  return (
    <>
      <dl class="totals">
        {columns.map((column) => (
          <div key={column.label}>
            <dt>{column.label}</dt>
            <dd>{formatAmount(column.amountOf(report.total))}</dd>
          </div>
        ))}
        <div>
          <dt>Turns</dt>
          <dd>{formatCount(report.total.turns)}</dd>
        </div>
      </dl>
      <Notes report={report} isOver={isOver} />
      {isEmpty ? (
        <Empty />
      ) : (
        <>
          <div class="charts">
            {shown.map((column) => (
              <Chart key={column.label} column={column} report={report} />
            ))}
          </div>
          <CostTable report={report} columns={shown} />
        </>
      )}
    </>
  );
};

export const CostPage = () => {
  const { month: wanted = "", by: wantedKey = "" } = location.value.query;
  const by = isKey(wantedKey) ? wantedKey : DEFAULT_KEY;
  const picked = costMonthOf(wanted, Date.now());
  const { month, since, until } = picked;
  const report = useResource(`cost ${month} ${by}`, (signal) => client.getCost({ since, until, by }, { signal }));
  return (
    <>
      <div class="title">
        <h1>Cost</h1>
        <MonthPicker {...picked} />
        <fieldset class="segmented">
          <legend class="hidden">Group by</legend>
          {Object.entries(keys).map(([key, label]) => (
            <button key={key} type="button" aria-pressed={key === by} onClick={() => replaceQuery({ by: key })}>
              {label}
            </button>
          ))}
        </fieldset>
        <CopyCommands
          request={{ method: "GET", path: "/v1/cost", query: { since, until, by } }}
          cli={cliOf("cost", "-m", month, "-b", by)}
        />
      </div>
      <Loaded resource={report} waiting="Adding up the costs…">
        {(loaded) => <Costs report={loaded} isOver={picked.next !== undefined} />}
      </Loaded>
    </>
  );
};

/** SQL over logs and billing: an editor, the result as a table and a chart, and saved queries. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { csvText } from "../../../core/domain/sql/csv.ts";
import { ApiError } from "../../client/index.ts";
import { announcement, CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Editor } from "../components/editor.tsx";
import { formatCounted, formatDuration } from "../components/format.ts";
import { Delayed, Problem, useResource } from "../components/resource.tsx";
import { saveBlob } from "../components/save-blob.ts";
import { cliOf } from "../components/shell-words.ts";
import { Text } from "../components/text.tsx";
import { location, replaceQuery } from "../shell/router.ts";
import { account, apiUrl, client } from "../shell/session.ts";
import { completeSql } from "./complete-sql.ts";
import type { SqlResult } from "./result.ts";
import { ResultChart } from "./result-chart.tsx";
import { ResultTable } from "./result-table.tsx";
import { SavedQueries, type SavedQuery } from "./saved-queries.ts";
import { type SqlProblem, sqlProblemOf } from "./sql-problem.ts";
import "./sql.css";

const EXAMPLE = `SELECT TIMESTAMP_TRUNC(timestamp, HOUR) AS hour, COUNT(*) AS entries
FROM logs
GROUP BY hour
ORDER BY hour`;

/** Returns the queries that the browser stores for one account on one platform. */
const savedQueries = (): SavedQueries =>
  new SavedQueries(localStorage, `portside-console queries ${new URL(apiUrl).pathname} ${account.value ?? ""}`);

const saveCsv = ({ columns, rows }: SqlResult): void => {
  const names = columns.map(({ name }) => name);
  const text = csvText(
    names,
    rows.map((row) => names.map((name) => row[name])),
  );
  saveBlob(new Blob([text], { type: "text/csv" }), "result.csv");
};

const saveJson = ({ rows }: SqlResult): void =>
  saveBlob(new Blob([`${JSON.stringify(rows, null, 2)}\n`], { type: "application/json" }), "result.json");

interface SaveProps {
  readonly query: string;
  readonly close: () => void;
  readonly saved: () => void;
}

const Save = ({ query, close, saved }: SaveProps) => {
  const [name, setName] = useState("");
  const replaces = savedQueries()
    .list()
    .some((one) => one.name === name.trim());
  return (
    <Confirm
      title="Save the query"
      action={replaces ? "Replace" : "Save"}
      disabled={name.trim() === ""}
      run={async () => {
        if (!savedQueries().save({ name: name.trim(), query }))
          throw new Error("The browser can store no more queries. Delete a saved query, and try again.");
        announcement.value = `Saved ${name.trim()}.`;
        saved();
      }}
      close={close}
    >
      <label for="query-name">Name</label>
      <input
        id="query-name"
        autocomplete="off"
        maxLength={80}
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <p class="help">This browser stores the query. Do not save a query that contains secrets.</p>
    </Confirm>
  );
};

interface SavedProps {
  readonly queries: readonly SavedQuery[];
  readonly open: (query: string) => void;
  readonly removed: () => void;
}

const Saved = ({ queries, open, removed }: SavedProps) =>
  queries.length === 0 ? null : (
    <section class="saved" aria-labelledby="saved-title">
      <h2 id="saved-title">Saved queries</h2>
      <ul class="plain">
        {queries.map(({ name, query }) => (
          <li key={name}>
            <button type="button" class="link" onClick={() => open(query)}>
              <Text>{name}</Text>
            </button>
            <button
              type="button"
              class="copy"
              aria-label={`Delete the query ${name}`}
              onClick={() => {
                savedQueries().remove(name);
                removed();
              }}
            >
              Delete
            </button>
          </li>
        ))}
      </ul>
    </section>
  );

const Rejected = ({ query, problem: { message, at } }: { readonly query: string; readonly problem: SqlProblem }) => (
  <div class="field-problem" role="alert">
    {at !== undefined && (
      <code>
        {query.slice(query.lastIndexOf("\n", at - 1) + 1, at)}
        <mark>{query.slice(at, at + 1).trim() || " "}</mark>
        {query.slice(at + 1).split("\n")[0]}
      </code>
    )}
    <p>
      <Text>{message}</Text>
    </p>
  </div>
);

interface Finished {
  readonly result: SqlResult;
  readonly millis: number;
}

const Result = ({ finished: { result, millis } }: { readonly finished: Finished }) => {
  const [showsChart, setShowsChart] = useState(false);
  const count = result.rows.length;
  return (
    <section class="sql-result" aria-labelledby="result-title">
      <div class="title">
        <h2 id="result-title">Result</h2>
        <span class="dim" role="status">
          {formatCounted(count, "row", "rows")} in {formatDuration(millis)}
        </span>
        {count > 0 && (
          <div class="buttons">
            <button type="button" aria-pressed={showsChart} onClick={() => setShowsChart(!showsChart)}>
              Chart
            </button>
            <button type="button" onClick={() => saveCsv(result)}>
              Download CSV
            </button>
            <button type="button" onClick={() => saveJson(result)}>
              Download JSON
            </button>
          </div>
        )}
      </div>
      {showsChart && count > 0 && <ResultChart result={result} />}
      {count > 0 ? <ResultTable result={result} /> : <p class="dim">The statement returned no rows.</p>}
    </section>
  );
};

const Tables = ({ schema }: { readonly schema: Awaited<ReturnType<typeof client.getSqlSchema>> }) => (
  <details class="tables">
    <summary>Tables and columns</summary>
    {schema.tables.map(({ name, description, columns }) => (
      <section key={name}>
        <h3>
          <code>{name}</code>
        </h3>
        <p class="dim">{description}</p>
        <dl class="pairs">
          {columns.map((column) => (
            <div key={column.name}>
              <dt>
                <code>{column.name}</code> <span class="dim">{column.type}</span>
              </dt>
              <dd>{column.description}</dd>
            </div>
          ))}
        </dl>
      </section>
    ))}
  </details>
);

/** Runs statements, one at a time. */
const useStatement = () => {
  const finished = useSignal<Finished | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const ran = useSignal("");
  const isRunning = useSignal(false);
  const controller = useRef<AbortController | undefined>(undefined);
  const cancel = () => controller.current?.abort();
  const run = async (query: string): Promise<void> => {
    cancel();
    const mine = new AbortController();
    controller.current = mine;
    isRunning.value = true;
    error.value = undefined;
    ran.value = query;
    const start = performance.now();
    try {
      const result = await client.runSql({ query }, { signal: mine.signal });
      if (!mine.signal.aborted) finished.value = { result, millis: performance.now() - start };
    } catch (problem) {
      if (!mine.signal.aborted) {
        error.value = problem;
        finished.value = undefined;
      }
    } finally {
      if (controller.current === mine) isRunning.value = false;
    }
  };
  useEffect(() => cancel, []);
  return { finished, error, ran, isRunning, run, cancel };
};

const loadLanguage = async () => (await import("./sql-language.ts")).googleSql;

export const SqlPage = () => {
  const linked = location.value.query["query"];
  const draft = useSignal(linked ?? EXAMPLE);
  const { finished, error, ran, isRunning, run, cancel } = useStatement();
  const schema = useResource("sql schema", (signal) => client.getSqlSchema({ signal }));
  const capabilities = useResource("sql capabilities", (signal) => client.capabilities({ signal }));
  const saved = useSignal(savedQueries().list());
  const [saves, setSaves] = useState(false);
  useEffect(() => {
    if (linked !== undefined) draft.value = linked;
  }, [linked]);
  const reloadSaved = () => {
    saved.value = savedQueries().list();
  };
  const start = (query: string): void => {
    if (query.trim() === "") return;
    replaceQuery({ query });
    void run(query);
  };
  const queries = capabilities.data.value?.sql.queries;
  if (queries?.supported === false)
    return (
      <>
        <h1>SQL</h1>
        <section class="empty">
          <h2>This platform does not support SQL</h2>
          <p>{queries.reason}</p>
        </section>
      </>
    );
  const problem = error.value instanceof ApiError ? sqlProblemOf(error.value.issues, ran.value) : undefined;
  const marked = problem?.at !== undefined && draft.value === ran.value ? [{ from: problem.at, to: problem.at }] : [];
  return (
    <>
      <div class="title">
        <h1>SQL</h1>
      </div>
      <Editor
        label="Statement"
        multiline
        value={draft.value}
        placeholder="SELECT …"
        language={loadLanguage}
        diagnostics={marked}
        complete={async (request) =>
          schema.data.value === undefined ? undefined : completeSql(request, schema.data.value)
        }
        onChange={(text) => {
          draft.value = text;
        }}
        onSubmit={start}
      />
      <div class="sql-bar">
        <div class="buttons">
          <button type="button" class="primary" disabled={isRunning.value} onClick={() => start(draft.value)}>
            Run
          </button>
          {isRunning.value && (
            <button type="button" onClick={cancel}>
              Cancel
            </button>
          )}
          <button type="button" disabled={draft.value.trim() === ""} onClick={() => setSaves(true)}>
            Save query
          </button>
          <CopyCommands
            request={{ method: "POST", path: "/v1/sql", json: { query: draft.value } }}
            cli={cliOf("sql", draft.value)}
          />
        </div>
        <span class="dim">Ctrl-Enter runs the statement, Ctrl-Space completes a word.</span>
      </div>
      {problem !== undefined ? (
        <Rejected query={ran.value} problem={problem} />
      ) : (
        error.value !== undefined && <Problem error={error.value} />
      )}
      {isRunning.value && <Delayed>Running the statement…</Delayed>}
      {finished.value !== undefined && <Result key={String(finished.value.millis)} finished={finished.value} />}
      <Saved
        queries={saved.value}
        open={(query) => {
          draft.value = query;
        }}
        removed={reloadSaved}
      />
      {schema.data.value !== undefined && <Tables schema={schema.data.value} />}
      {saves && <Save query={draft.value} close={() => setSaves(false)} saved={reloadSaved} />}
    </>
  );
};

/** The log of a deployment: history and new entries in one list, with a filter. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import { Command, CopyCommands } from "../components/copy.tsx";
import { Editor } from "../components/editor.tsx";
import { formatCounted, formatTime } from "../components/format.ts";
import { lazy } from "../components/lazy.tsx";
import { Delayed, Problem } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { showsUtc } from "../components/time.tsx";
import { location, replaceQuery } from "../shell/router.ts";
import { completeFilter } from "./complete-filter.ts";
import { addField, combineFilter, type FilterProblem, filterProblemOf, minimumSeverities } from "./filter.ts";
import { LogList } from "./log-list.tsx";
import { useLog } from "./use-log.ts";

const Histogram = lazy(async () => (await import("./histogram.tsx")).Histogram, "Counting the entries…");

interface FilterProps {
  readonly name: string;
  readonly query: string;
  readonly severity: string;
  readonly problem: FilterProblem | undefined;
}

const Marked = ({ query, problem: { message, at } }: { readonly query: string; readonly problem: FilterProblem }) => (
  <div id="filter-problem" class="field-problem" role="alert">
    {at !== undefined && (
      <code>
        {query.slice(0, at)}
        <mark>{query.slice(at, at + 1) || " "}</mark>
        {query.slice(at + 1)}
      </code>
    )}
    <p>
      {at !== undefined && `At character ${at + 1}: `}
      {message}
    </p>
  </div>
);

const Filter = ({ name, query, severity, problem }: FilterProps) => {
  const draft = useSignal(query);
  const complete = useMemo(() => completeFilter(name), [name]);
  useEffect(() => {
    draft.value = query;
  }, [query]);
  const at = problem?.at;
  const apply = (text: string): void => replaceQuery({ query: text });
  return (
    <form
      class="filter"
      onSubmit={(event) => {
        event.preventDefault();
        apply(draft.value);
      }}
    >
      <div class="grow" data-search>
        <Editor
          label="Filter"
          value={draft.value}
          onChange={(text) => {
            draft.value = text;
          }}
          onSubmit={apply}
          placeholder={'Filter, such as severity>=ERROR or jsonPayload.user="ada"'}
          complete={complete}
          // The position refers to the applied filter, so hide it while the user edits a different one.
          diagnostics={at === undefined || draft.value !== query ? [] : [{ from: at, to: at + 1 }]}
        />
      </div>
      <label>
        <span class="hidden">Severity</span>
        <select value={severity} onChange={({ currentTarget }) => replaceQuery({ severity: currentTarget.value })}>
          <option value="">All severities</option>
          {minimumSeverities.map((one) => (
            <option key={one} value={one}>
              {one} and above
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Apply</button>
    </form>
  );
};

const Empty = ({ name, isFiltered }: { readonly name: string; readonly isFiltered: boolean }) => (
  <section class="empty">
    <h2>{isFiltered ? "No entry matches the filter" : "The log is empty"}</h2>
    <p>
      {isFiltered
        ? "New entries that match appear here."
        : "Output of the service, its requests and its deploys appear here as they happen."}
    </p>
    <Command text={cliOf("logs", name, "--follow")} />
  </section>
);

interface BarProps {
  readonly name: string;
  readonly filter: string | undefined;
  readonly until: string;
  readonly count: number;
  readonly isLoaded: boolean;
  readonly isFollowing: Signal<boolean>;
  readonly pin: () => void;
}

const Following = ({ isFollowing }: Pick<BarProps, "isFollowing">) =>
  isFollowing.value ? (
    <span class="status good">
      <span class="dot" aria-hidden="true" />
      Following
    </span>
  ) : (
    <button
      type="button"
      onClick={() => {
        isFollowing.value = true;
      }}
    >
      Follow new entries
    </button>
  );

const Bar = ({ name, filter, until, count, isLoaded, isFollowing, pin }: BarProps) => (
  <div class="log-bar">
    <span class="dim" role="status">
      {isLoaded && formatCounted(count, "entry", "entries")}
      {isLoaded && until !== "" && ` until ${formatTime(Date.parse(until), showsUtc.value)}`}
    </span>
    <div class="buttons">
      {until === "" ? (
        <Following isFollowing={isFollowing} />
      ) : (
        <button type="button" onClick={() => replaceQuery({ since: undefined, until: undefined })}>
          Show new entries
        </button>
      )}
      {until === "" && count > 0 && (
        <button type="button" title="Ends the list here, so that the URL always shows these entries" onClick={pin}>
          Stop here
        </button>
      )}
      <CopyCommands
        request={{
          method: "POST",
          path: "/v1/deployment/logs",
          json: { deployment_name: name, ...(filter === undefined ? {} : { query: filter }) },
        }}
        cli={cliOf("logs", name, ...(filter === undefined ? [] : ["-q", filter]))}
      />
    </div>
  </div>
);

export const LogsPage = ({ name }: { readonly name: string }) => {
  const { query = "", severity = "", since, until = "", hours } = location.value.query;
  const filter = combineFilter(query, severity);
  const request = { name, query: filter, since, until: until === "" ? undefined : until };
  const { list, version, error, isLoaded, loadOlder } = useLog(request);
  const isFollowing = useSignal(until === "");
  const problem = error.value instanceof ApiError ? filterProblemOf(error.value.issues, query, severity) : undefined;
  const count = version.value >= 0 ? list.entries.length : 0;
  const pin = (): void => replaceQuery({ until: list.entries.at(-1)?.timestamp });
  return (
    <div class="logs">
      <Filter name={name} query={query} severity={severity} problem={problem} />
      {problem !== undefined ? (
        <Marked query={query} problem={problem} />
      ) : (
        error.value !== undefined && <Problem error={error.value} />
      )}
      {error.value === undefined && (
        <Bar
          name={name}
          filter={filter}
          until={until}
          count={count}
          isFollowing={isFollowing}
          pin={pin}
          isLoaded={isLoaded.value}
        />
      )}
      {/* Counts only after the lines are loaded, because counting takes longer. */}
      {isLoaded.value && error.value === undefined && <Histogram request={request} hours={Number(hours)} />}
      {!isLoaded.value && error.value === undefined && <Delayed>Reading the log…</Delayed>}
      {isLoaded.value && count === 0 && <Empty name={name} isFiltered={filter !== undefined || since !== undefined} />}
      {count > 0 && (
        <LogList
          entries={list.entries}
          version={version.value}
          isFollowing={isFollowing.value}
          setFollowing={(following) => {
            isFollowing.value = following && until === "";
          }}
          loadOlder={loadOlder}
          addField={(path, value) => replaceQuery({ query: addField(query, path, value) })}
        />
      )}
    </div>
  );
};

/**
 * Changes some variables of a deployment. The form cannot show current values, because the API never returns them. It
 * sends only the changes.
 */

import { properties } from "virtual:deploy-schema";
import { useSignal } from "@preact/signals";
import { ApiError } from "../../../client/index.ts";
import { CopyCommands } from "../../components/copy.tsx";
import { Confirm } from "../../components/dialog.tsx";
import { cliOf } from "../../components/shell-words.ts";
import { Text } from "../../components/text.tsx";
import { client } from "../../shell/session.ts";
import { openDeploy } from "../actions.tsx";
import { type FieldProblem, fieldsOf, problemsOf, type Rows, repetitions, type Values } from "./fields.ts";
import { SchemaField } from "./schema-field.tsx";

type Request = Parameters<typeof client.setEnvironment>[0];

const DESCRIPTION = "Variables with a new value. The other variables keep their values.";

/** Returns the equivalent commands. The change must not contain a secret, because `portside env` cannot set one. */
const commandsOf = (name: string, set: Values, unset: readonly string[]): string => {
  const pairs = Object.entries(set).map(([key, value]) => `${key}=${String(value)}`);
  return [
    ...(pairs.length > 0 ? [cliOf("env", "set", name, ...pairs)] : []),
    ...(unset.length > 0 ? [cliOf("env", "unset", name, ...unset)] : []),
  ].join(" && ");
};

interface VariablesProps {
  readonly name: string;
  /** The names of the current variables. */
  readonly names: readonly string[];
}

export const Variables = ({ name, names }: VariablesProps) => {
  const rows = useSignal<Rows>([]);
  const removed = useSignal<ReadonlySet<string>>(new Set());
  const problems = useSignal<readonly FieldProblem[]>([]);
  const isOpen = useSignal(false);
  const { env: set = {} } = fieldsOf({ env: rows.value }) as { env?: Values };
  const unset = [...removed.value].filter((one) => names.includes(one));
  const request = { name, set, unset } as Request;
  const hasSecret = Object.values(set).some((value) => typeof value === "object");
  const toggle = (one: string): void => {
    const next = new Set(removed.value);
    if (!next.delete(one)) next.add(one);
    removed.value = next;
  };
  const apply = async (): Promise<void> => {
    try {
      await openDeploy(await client.setEnvironment(request));
    } catch (problem) {
      if (problem instanceof ApiError) problems.value = problemsOf(problem.issues, "set");
      throw problem;
    }
  };
  const { env } = properties;
  return (
    <section class="card settings" aria-labelledby="variables-title">
      <h2 id="variables-title">Variables</h2>
      {names.length > 0 && (
        <ul class="plain">
          {names.map((one) => (
            <li key={one}>
              <label class="check">
                <input type="checkbox" checked={removed.value.has(one)} onChange={() => toggle(one)} />
                <span>
                  Remove{" "}
                  <code>
                    <Text>{one}</Text>
                  </code>
                </span>
              </label>
            </li>
          ))}
        </ul>
      )}
      <SchemaField
        name="env"
        schema={{ ...env, description: DESCRIPTION }}
        value={rows.value}
        problems={problems.value}
        change={(value) => {
          rows.value = value as Rows;
        }}
      />
      <div class="buttons">
        <button
          type="button"
          disabled={rows.value.length === 0 && unset.length === 0}
          onClick={() => {
            problems.value = repetitions({ env: rows.value }).map(({ message }) => ({ path: "", message }));
            isOpen.value = problems.value.length === 0;
          }}
        >
          Change the variables
        </button>
      </div>
      {isOpen.value && (
        <Confirm
          title={`Change the variables of ${name}?`}
          action="Change"
          run={apply}
          close={() => {
            isOpen.value = false;
          }}
        >
          <ul>
            {Object.keys(set).map((one) => (
              <li key={one}>
                {names.includes(one) ? "Replace" : "Add"} <Text>{one}</Text>
              </li>
            ))}
            {unset.map((one) => (
              <li key={one}>
                Remove <Text>{one}</Text>
              </li>
            ))}
          </ul>
          <p>New instances replace the current ones without a build.</p>
          <CopyCommands
            request={{ method: "POST", path: "/v1/deployment/env", json: request }}
            {...(hasSecret ? {} : { cli: commandsOf(name, set, unset) })}
          />
        </Confirm>
      )}
    </section>
  );
};

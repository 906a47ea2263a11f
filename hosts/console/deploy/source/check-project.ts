/** Sends the `portside.json` of a source to the platform for validation, because only the platform has the rules. */
import { PROJECT_FILE } from "../../../../core/domain/deploy/source/packing.ts";
import { ApiError } from "../../../client/index.ts";
import { PackError } from "../../../packer/source-tree.ts";
import { client } from "../../shell/session.ts";

type PlanRequest = Parameters<typeof client.plan>[0];

/** Fails with a `PackError` that lists the invalid fields. The deploy itself reports problems of the name. */
export const checkProject = async (project: Readonly<Record<string, unknown>>): Promise<void> => {
  const { $schema: _schema, source: _source, name, ...fields } = project;
  try {
    // A project file may omit volumes if the service mounts none. A request must state them.
    await client.plan({ volumes: {}, ...fields, function_name: String(name) } as unknown as PlanRequest);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const issues = error.issues.filter(({ field }) => field !== "function_name");
    if (issues.length === 0) return;
    const lines = issues.map(({ field, message }) => `${field}: ${message}`);
    throw new PackError([`${PROJECT_FILE} is invalid. Correct it, and choose the folder again.`, ...lines].join("\n"));
  }
};

/** Proposes fields and values for the filter of a log, from the log's newest entries. */
import type { CompletionSource } from "../components/code-editor.ts";
import { formatCounted } from "../components/format.ts";
import { client } from "../shell/session.ts";
import { fieldMatches, filterContext, valuesMatching, valueText } from "./filter-completion.ts";

type Values = Awaited<ReturnType<typeof client.listLogValues>>;

/** The time for which proposals are valid, so that typing does not search the log for each character. */
const KEPT_MS = 30_000;
const MAX_VALUES = 100;
const operators = ["AND", "OR", "NOT"];

const counted = (entries: number): string => formatCounted(entries, "entry", "entries");

/** Returns a source of proposals for the log of a deployment. */
export const completeFilter = (name: string): CompletionSource => {
  const known = new Map<string, { readonly at: number; readonly values: Promise<Values> }>();
  const read = (field: string | undefined, prefix: string): Promise<Values> => {
    const key = `${field ?? ""}\n${prefix}`;
    const found = known.get(key);
    if (found !== undefined && Date.now() - found.at < KEPT_MS) return found.values;
    const values = client.listLogValues({ deployment_name: name, field, prefix, limit: MAX_VALUES });
    known.set(key, { at: Date.now(), values });
    values.catch(() => known.delete(key));
    return values;
  };
  const valuesOf = async (field: string, prefix: string): Promise<Values["fields"][number] | undefined> => {
    const all = (await read(field, "")).fields[0];
    return all === undefined || all.complete || prefix === "" ? all : (await read(field, prefix)).fields[0];
  };
  return async ({ text, position, isExplicit }) => {
    const context = filterContext(text, position);
    if (context === undefined) return undefined;
    const typed = text.slice(context.from, position);
    if (context.kind === "value") {
      const next = text.charAt(position);
      const found = await valuesOf(context.field, context.prefix);
      const options = (found?.values ?? []).map(({ value, entries }) => {
        const insert = valueText(context.field, value, next);
        return { label: insert, detail: counted(entries) };
      });
      return { from: context.from, options: valuesMatching(options, typed) };
    }
    if (typed === "" && !isExplicit) return undefined;
    const { fields } = await read(undefined, "");
    const names = fields.map((field) => ({
      label: field.name,
      detail: counted(field.entries),
      insert: `${field.name}=`,
    }));
    const all = [...names, ...operators.map((label) => ({ label, insert: `${label} ` }))];
    // The editor's fuzzy matching would offer fields for plain search words, and Enter would replace the word.
    return { from: context.from, options: all.filter(({ label }) => fieldMatches(label, typed)) };
  };
};

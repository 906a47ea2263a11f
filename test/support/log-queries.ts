/** What tests ask of a log store. */
import { everything } from "../../core/domain/log-filter/tree.ts";
import type { LogQuery } from "../../core/ports/log-store.ts";

/** Every entry, so many at most. */
export const every = (limit = 1000): LogQuery => ({ filter: everything, limit, patience: 20_000 });

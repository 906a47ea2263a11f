/** The process of a provider that holds its logs in memory: entries come with the orders. */
import { serveSql } from "./serve.ts";

await serveSql({ database: undefined });

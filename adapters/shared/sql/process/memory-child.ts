/** Entry point of the SQL process for providers that store logs in memory. Entries arrive with the requests. */
import { serveSql } from "./serve.ts";

await serveSql({ database: undefined });

/** The child process that parses statements and translates them to Trino's SQL, which Athena runs. */
import { serveText } from "../../shared/sql/process/serve-text.ts";
import { toTrino } from "./trino/translate.ts";

serveText(toTrino);

/**
 * Entry point of the process that parses statements for an engine on a cloud. Statements are untrusted, so the control
 * plane does not parse them itself.
 */
import { serveText } from "./serve-text.ts";

serveText();

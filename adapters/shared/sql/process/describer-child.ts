/** The child process of an engine that runs statements elsewhere: it only reads their text, which tenants write. */
import { serveText } from "./serve-text.ts";

serveText();

/**
 * Entry point of the process of an engine that runs statements on a cloud. It only parses text, which tenants write.
 */
import { serveText } from "./serve-text.ts";

serveText();

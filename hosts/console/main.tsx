/** The entry of the console: starts the session and renders the page. */
import { render } from "preact";
import { App } from "./shell/app.tsx";
import { startSession } from "./shell/session.ts";

const root = document.getElementById("app");
if (root !== null) {
  render(<App />, root);
  await startSession();
}

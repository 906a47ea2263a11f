/** Signs a user in with a key. `portside console` opens the page with a one-time link instead. */
import { useRef, useState } from "preact/hooks";
import { Command } from "../components/copy.tsx";
import { signIn, signInNotice } from "../shell/session.ts";

export const SignIn = () => {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    const key = input.current?.value.trim() ?? "";
    if (key === "") {
      setProblem("Enter an API key.");
      return;
    }
    setBusy(true);
    const found = await signIn({ key });
    setBusy(false);
    setProblem(found ?? "");
    if (input.current !== null) input.current.value = "";
    if (found !== undefined) input.current?.focus();
  };
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <h1>Sign in to Portside</h1>
      {signInNotice.value !== "" && <p role="status">{signInNotice.value}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label for="key">API key</label>
        <input
          ref={input}
          id="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={problem !== ""}
          aria-describedby="key-help key-problem"
        />
        <p id="key-help" class="help">
          The page exchanges the key for a session and does not store the key.
        </p>
        <p id="key-problem" class="field-problem" role="alert">
          {problem}
        </p>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <p>Or let the command line open this page, already signed in:</p>
      <Command text="portside console" />
    </main>
  );
};

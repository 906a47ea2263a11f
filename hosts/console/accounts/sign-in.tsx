/** Signs a user in with a key. `portside console` opens the page with a one-time link instead. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Client } from "../../client/index.ts";
import { Command } from "../components/copy.tsx";
import { apiUrl, signIn, signInNotice } from "../shell/session.ts";

type Method = Awaited<ReturnType<Client["capabilities"]>>["console"]["sign_in"][number];

/** Returns the server's sign-in methods. Until the server responds, returns those of Portside's own server. */
const useMethods = (): readonly Method[] => {
  const [methods, setMethods] = useState<readonly Method[]>(["link", "key"]);
  useEffect(() => {
    const read = async (): Promise<void> => {
      const response = await fetch(`${apiUrl}/console/sign-in.json`);
      if (response.ok) setMethods(((await response.json()) as { sign_in: Method[] }).sign_in);
    };
    void read().catch(() => undefined);
  }, []);
  return methods;
};

const KeyForm = () => {
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
  );
};

export const SignIn = () => {
  const methods = useMethods();
  const hasKeys = methods.includes("key");
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <h1>Sign in to Portside</h1>
      {signInNotice.value !== "" && <p role="status">{signInNotice.value}</p>}
      {hasKeys && <KeyForm />}
      {methods.includes("link") && (
        <>
          <p>{hasKeys ? "Or let" : "Let"} the command line open this page, already signed in:</p>
          <Command text="portside console" />
        </>
      )}
      {methods.includes("application") && (
        <p>The application that contains this page also signs users in. Sign in there, and reload the page.</p>
      )}
    </main>
  );
};

import { type FormEvent, useId, useState } from "react";
import { Command } from "../parts/command.tsx";
import { Mark } from "../parts/mark.tsx";

interface ConnectScreenProps {
  /** The reason why an earlier code or token was not accepted. */
  readonly refused?: string | undefined;
  readonly onToken: (token: string) => void;
}

/** Shows the two ways to open the page: with a command, or with a token of the server. */
export function ConnectScreen({ refused, onToken }: ConnectScreenProps) {
  const [token, setToken] = useState("");
  const field = useId();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
    <main className="connect">
      <div className="connect-card">
        <Mark size={36} />
        <h1>Open this page from the command line</h1>
        {refused === undefined ? null : (
          <p role="alert" className="connect-refused">
            {refused}
          </p>
        )}
        <p>On the machine that Chronicle records, run:</p>
        <Command text="chronicle ui" />
        <p className="quiet">
          The address that it opens lets this tab in once, and until the server ends. For a server of somebody else,
          enter a token that its operator gave you.
        </p>
        <form onSubmit={submit} className="connect-form">
          <label htmlFor={field}>Token</label>
          <input
            id={field}
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
          <button type="submit" className="button primary" disabled={token.trim() === ""}>
            Connect
          </button>
        </form>
      </div>
    </main>
  );
}

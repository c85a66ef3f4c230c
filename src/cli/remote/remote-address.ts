import type { Input } from "../input.ts";
import type { Io } from "../io.ts";
import type { CommandSpec } from "../spec.ts";
import { usageError } from "../usage-error.ts";

/** A server that stands for the store, and perhaps one of its workspaces. */
export interface RemoteAddress {
  /** `http://127.0.0.1:7420`, `https://…`, `unix:/path/of/the/socket`; `unix:` alone: that of this machine's own store. */
  readonly url: string;
  /** What stood behind `#`: a workspace's id or name. */
  readonly workspace: string | undefined;
}

/** `URL` or `URL#WORKSPACE`. No name and no id has a `#` in it, a socket's path may. */
function parseRemote(text: string): RemoteAddress {
  const at = text.lastIndexOf("#");
  if (at < 0) return { url: text, workspace: undefined };
  const workspace = text.slice(at + 1);
  return { url: text.slice(0, at), workspace: workspace === "" ? undefined : workspace };
}

/**
 * The server that a command line speaks to: `--remote`, else `$CHRONICLE_REMOTE`; an empty one is none. `undefined`: the store
 * of this machine, which `--store` asks for as well. Throws `USAGE` for a command that works here only.
 */
export function remoteOf(
  { env }: Pick<Io, "env">,
  input: Input,
  spec: CommandSpec | undefined,
): RemoteAddress | undefined {
  const given = input.text("remote");
  const text = given ?? env["CHRONICLE_REMOTE"] ?? "";
  const here = spec?.localOnly;
  if (text === "" || (given === undefined && here?.ignoresEnvironment === true)) return undefined;
  if (input.text("store") !== undefined) {
    if (given === undefined) return undefined;
    throw usageError("--store is on this machine, and --remote is a server", "give one of them");
  }
  if (here === undefined) return parseRemote(text);
  const from = given === undefined ? "CHRONICLE_REMOTE" : "--remote";
  const not = given === undefined ? "; not with the server: add --remote ''" : "";
  throw usageError(`${spec?.name} works on this machine only, not with ${from}`, `${here.instead}${not}`);
}
